//go:build unix

package dockerengine

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// groupOf returns the name of the group that owns a socket. If that is root's group or
// has no name, groupOf returns "docker", the group that engines usually create.
func groupOf(socket string) string {
	const usual = "docker"
	info, err := os.Stat(socket)
	if err != nil {
		return usual
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Gid == 0 {
		return usual
	}
	group, err := user.LookupGroupId(strconv.FormatUint(uint64(owner.Gid), 10))
	if err != nil {
		return usual
	}
	return group.Name
}
