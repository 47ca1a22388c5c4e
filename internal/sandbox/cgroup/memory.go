package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryLimit returns the lowest memory limit, in bytes, of the group that the
// calling process is in and the groups above it, or 0 if it finds none. mountinfo
// and own are as for Make.
func MemoryLimit(mountinfo, own string) int64 {
	lowest := int64(0)
	for _, h := range locate(mountinfo, own) {
		file := "memory.limit_in_bytes"
		if h.unified {
			file = "memory.max"
		}
		for dir := h.own; h.contains(dir); dir = filepath.Dir(dir) {
			if n := readLimit(filepath.Join(dir, file)); n > 0 && (lowest == 0 || n < lowest) {
				lowest = n
			}
			if dir == h.mount {
				break
			}
		}
	}
	return lowest
}

// readLimit returns the number in a file, or 0 if there is none: "max" is no limit.
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
