//go:build !unix

package atomicfile

import "io/fs"

func isMine(fs.FileInfo) bool { return false }
