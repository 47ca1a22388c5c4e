package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// RemoveAll removes a file in dir, or a directory and its contents, even if its
// permissions prevent that. A missing file is not an error. It does not follow
// links.
func RemoveAll(dir *os.Root, name string) error {
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, statErr := dir.Lstat(name)
	if statErr != nil || !info.IsDir() {
		return err
	}
	if err := dir.Chmod(name, 0o700); err != nil {
		return err
	}
	if err := removeContent(dir, name); err != nil {
		return err
	}
	return dir.Remove(name)
}

func removeContent(parent *os.Root, name string) (err error) {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := ReadNames(dir)
	for _, n := range names {
		if err != nil {
			return err
		}
		err = RemoveAll(dir, n)
	}
	return err
}

// ReadNames returns the names in dir, in no order.
func ReadNames(dir *os.Root) (names []string, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}
