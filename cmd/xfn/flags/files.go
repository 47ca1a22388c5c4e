package flags

import (
	"os"
	"slices"
)

// Files are existing files and folders, by whatever path.
type Files []os.FileInfo

// FilesAt returns what exists at paths.
func FilesAt(paths ...string) (files Files) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// Has reports whether the file or folder at a path is one of f.
func (f Files) Has(path string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(f, func(other os.FileInfo) bool { return os.SameFile(info, other) })
}
