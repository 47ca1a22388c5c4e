package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// eatMemory allocates as many MiB as its first argument says, as private or shared
// memory.
func eatMemory(args []string) string {
	size := number(args[0]) << 20
	kind := ""
	if len(args) > 1 {
		kind = args[1]
	}
	held, err := memoryOf(kind, size)
	if err != nil {
		return outcome(err)
	}
	for i := 0; i < size; i += 4096 {
		held[i] = 1
	}
	return "done"
}

func memoryOf(kind string, size int) ([]byte, error) {
	const access = unix.PROT_READ | unix.PROT_WRITE
	switch kind {
	case "shared":
		return unix.Mmap(-1, 0, size, access, unix.MAP_SHARED|unix.MAP_ANON)
	case "memfd":
		fd, err := unix.MemfdCreate("memory", 0)
		if err == nil {
			err = unix.Ftruncate(fd, int64(size))
		}
		if err != nil {
			return nil, err
		}
		return unix.Mmap(fd, 0, size, access, unix.MAP_SHARED)
	case "sysv":
		id, err := unix.SysvShmGet(0, size, 0o600|unix.IPC_CREAT)
		if err != nil {
			return nil, err
		}
		return unix.SysvShmAttach(id, 0, 0)
	default:
		return unix.Mmap(-1, 0, size, access, unix.MAP_PRIVATE|unix.MAP_ANON)
	}
}

// watch creates inotify instances until a creation fails. It returns their number and the
// error.
func watch([]string) string {
	for n := 0; ; n++ {
		if _, err := unix.InotifyInit1(0); err != nil {
			return fmt.Sprintf("%d %s", n, outcome(err))
		}
	}
}
