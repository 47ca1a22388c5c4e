#!/bin/sh
# From an empty folder to a function package in a registry and back, and the tests
# of a platform, with each xfn command shown before it runs. `make demo` builds
# bin/xfn and starts this.
#
# It works in a temporary folder, which is gone when it ends, however it ends.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
PATH=$root/bin:$PATH
work=$(mktemp -d)
command= registry=

cleanup() {
	status=$?
	trap '' INT TERM HUP
	for pid in $command $registry; do
		kill "$pid" 2>/dev/null && wait "$pid" || :
	done
	cd / && rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# What the commands print goes where they send it; these two go to the reader.
exec 3>&1
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain" >&3; }
show() { printf '$ %s\n' "$*" >&3; }

# run shows a command and runs it. A shell only obeys a signal at once while it
# waits for what runs in the background.
run() {
	show "$@"
	"$@" &
	command=$!
	wait "$command"
	command=
}

cd "$work"

say 'Scaffold a function from the bundled template.'
run xfn xpkg init function-hello go -d function-hello
show cd function-hello
cd function-hello

# For linux/amd64,linux/arm64 the go command would compile the function and all of
# its libraries twice, which takes minutes the first time.
say 'Build a package of it for this machine, without Docker.'
run xfn xpkg build -f package --embed-runtime-source . -o function-hello.xpkg

say 'Render the example with the function out of that package, without a cluster.'
package=function-hello.xpkg
if [ "$(uname -s)" != Linux ]; then
	# A package holds Linux programs. Elsewhere the folder stands for it: xfn
	# builds the same function for this machine.
	package=.
fi
run xfn render example/xr.yaml example/composition.yaml example/functions.yaml --package "function-hello=$package"

say 'Serve a registry.'
show 'xfn registry serve --address 127.0.0.1:0 --dir ../registry &'
mkfifo ../address
xfn registry serve --address 127.0.0.1:0 --dir ../registry >../address &
registry=$!
exec 4<../address
# It prints its address once it listens, or ends without a line.
read -r line <&4
printf '%s\n' "$line"
address=${line##* }
reference=${address#http://}/acme/function-hello:v0.1.0

say 'Push the package.'
run xfn xpkg push -f function-hello.xpkg "$reference" >../pushed
cat ../pushed

say 'Pull it back, and compare.'
run xfn xpkg pull "$reference" -o pulled.xpkg
run cmp function-hello.xpkg pulled.xpkg

say 'The package that was pulled is the package that was built, byte for byte.'

say 'Test a platform: two Compositions, and a function that is built for it.'
show cd examples/platform
cd "$root/examples/platform"
run xfn test
