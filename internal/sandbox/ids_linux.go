package sandbox

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// MapsIDs reports whether this process may give a sandbox ids other than its
// own, and has any: 65536 of them from [Spec.HostID] on. Root in a rootless
// container has the ids that the container's user received. The code that
// unpacks a root gives its files to these ids.
func MapsIDs() bool {
	return capable(1<<unix.CAP_SETUID|1<<unix.CAP_SETGID) && has("/proc/self/uid_map", DefaultHostID) && has("/proc/self/gid_map", DefaultHostID)
}

// capable reports whether this process has all capabilities, of the first 32,
// that are set in need.
func capable(need uint32) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&need == need
}

// has reports whether the map of this user namespace, a file, has the ids of a
// function from first on.
func has(file string, first int) bool {
	data, err := os.ReadFile(file)
	return err == nil && mapped(string(data), first)
}

// mapped reports whether the text of a map (user_namespaces(7)) has the ids of
// a function from first on. Its lines have an id inside, one outside, and a
// number of ids.
func mapped(text string, first int) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count int
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && inside <= first && first+idRange <= inside+count {
			return true
		}
	}
	return false
}
