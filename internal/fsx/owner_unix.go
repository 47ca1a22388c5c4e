//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

// isMine says whether a file belongs to the user of this process, and has no
// other name.
func isMine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && st.Nlink == 1
}
