#!/bin/sh
# Creates a function, builds its package, pushes it to a registry, pulls it, and tests
# an example platform. It prints each xfn command before it runs. `make demo` builds
# bin/xfn and runs this script.
#
# The script works in a temporary folder, which it always removes at its end.
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

# say and show print to the script's own stdout, even if a command's stdout is
# redirected to a file.
exec 3>&1
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain" >&3; }
show() { printf '$ %s\n' "$*" >&3; }

# run prints a command and runs it in the background. A shell handles a signal at once
# only while it waits for a background process.
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

# The package is for one platform: for two, the go command would compile the function
# and its libraries twice, which takes minutes the first time.
say 'Build a package of it for this machine, without Docker.'
run xfn xpkg build -f package --embed-runtime-source . -o function-hello.xpkg

say 'Render the example with the function out of that package, without a cluster.'
package=function-hello.xpkg
if [ "$(uname -s)" != Linux ]; then
	# A package contains Linux programs. On other systems, render the function's
	# folder instead: xfn builds the function for this machine.
	package=.
fi
run xfn render example/xr.yaml example/composition.yaml example/functions.yaml --package "function-hello=$package"

say 'Serve a registry.'
show 'xfn registry serve --address 127.0.0.1:0 --dir ../registry &'
mkfifo ../address
xfn registry serve --address 127.0.0.1:0 --dir ../registry >../address &
registry=$!
exec 4<../address
# The registry prints its address when it listens. If it fails, read gets no line and
# this script ends.
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
