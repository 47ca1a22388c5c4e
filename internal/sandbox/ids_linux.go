package sandbox

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// MapsIDs reports whether this process may give a sandbox ids that are not its
// own, and has any: 65536 of them from [Spec.HostID] on. The root of a rootless
// container has what that gave its user. Who unpacks a root gives its files to
// these ids.
func MapsIDs() bool {
	return capable(1<<unix.CAP_SETUID|1<<unix.CAP_SETGID) && has("/proc/self/uid_map", DefaultHostID) && has("/proc/self/gid_map", DefaultHostID)
}

// capable tells whether this process has all of the first 32 capabilities that
// are set in need.
func capable(need uint32) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&need == need
}

// has tells whether a file with the map of this user namespace has the ids of a
// function from first on.
func has(file string, first int) bool {
	data, err := os.ReadFile(file)
	return err == nil && mapped(string(data), first)
}

// mapped tells the same of the map (user_namespaces(7)): lines of an id inside,
// one outside and a number of ids.
func mapped(text string, first int) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count int
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && inside <= first && first+idRange <= inside+count {
			return true
		}
	}
	return false
}
