#!/bin/sh
# Creates a root file system in the directory $1, of this machine's Debian version, with
# the packages of the list $2. It needs debootstrap and root. It uses apt's mirror.
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
