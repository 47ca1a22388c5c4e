package main

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// descriptors lists the descriptors that the process was started with, without
// descriptors of the Go runtime.
func descriptors([]string) string {
	var open []string
	for fd := range 1024 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		kind, _, _ := strings.Cut(target, ":")
		open = append(open, strconv.Itoa(fd)+"="+either(kind, err))
	}
	return strings.Join(open, " ")
}

// mounts lists all mounts with their mount point, type and options, without the
// options for access times. It leaves out what depends on the host: the type of
// the root, and all but the mount point of files.
func mounts([]string) string {
	data, err := os.ReadFile("/proc/self/mountinfo")
	var lines []string
	for line := range strings.Lines(string(data)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)[0]
		place := fields[4]
		if info, err := os.Stat(place); err == nil && !info.IsDir() {
			lines = append(lines, place)
			continue
		}
		var options []string
		for _, option := range strings.Split(fields[5], ",") {
			if !strings.HasSuffix(option, "atime") {
				options = append(options, option)
			}
		}
		if place == "/" && kind != "overlay" {
			kind = "host's"
		}
		lines = append(lines, fmt.Sprint(place, " ", kind, " ", strings.Join(options, ",")))
	}
	return either(strings.Join(lines, "\n"), err)
}

// namespaces returns the namespaces of the process.
func namespaces([]string) string {
	var all []string
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		to, err := os.Readlink(path.Join("/proc/self/ns", name))
		all = append(all, either(to, err))
	}
	return strings.Join(all, " ")
}

// session reports whether the process leads a session.
func session([]string) string {
	id, err := unix.Getsid(0)
	return either(fmt.Sprint(id == os.Getpid()), err)
}

func securebits([]string) string {
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	return either(fmt.Sprintf("%#x", bits), err)
}

func rlimits([]string) string {
	var all []string
	for _, r := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_CORE, unix.RLIMIT_MSGQUEUE, unix.RLIMIT_SIGPENDING} {
		var l unix.Rlimit
		if err := unix.Getrlimit(r, &l); err != nil {
			return outcome(err)
		}
		all = append(all, fmt.Sprint(l.Max))
	}
	return strings.Join(all, " ")
}
