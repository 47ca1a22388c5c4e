//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

// isMine reports whether the user of this process owns a file that has only one
// name.
func isMine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && st.Nlink == 1
}
