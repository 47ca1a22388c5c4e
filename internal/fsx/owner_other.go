//go:build !unix

package fsx

import "io/fs"

func isMine(fs.FileInfo) bool { return false }
