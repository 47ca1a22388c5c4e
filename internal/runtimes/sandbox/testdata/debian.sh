#!/bin/sh
# Makes a root of the Debian that this machine is, with packages: DIRECTORY LIST.
# It needs debootstrap and to be root. The mirror is the one that apt uses.
set -eu
. /etc/os-release
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(CODENAME)' 'Created-By: Packages' 'Component: main' |
	awk -v name="$VERSION_CODENAME" '$2 == name || $3 == name { print $1; exit }')
if [ -z "$mirror" ]; then
	echo "apt knows no mirror of Debian $VERSION_CODENAME" >&2
	exit 1
fi
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
if [ -n "${http_proxy-}" ]; then export http_proxy; fi
exec debootstrap --variant=minbase --include="$2" "$VERSION_CODENAME" "$1" "$mirror"
