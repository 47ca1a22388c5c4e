package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

const prefix = "xfn-"

// tempDirName matches the names of temporary directories, and no names that other
// programs use.
var tempDirName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + prefix + "[a-z2-7]{26}$") })

// locks is true if the system can lock directories. Windows can only lock files.
const locks = runtime.GOOS != "windows"

// A TempDir is a directory that only its owner can access. Other processes do not remove
// it while it is in use.
type TempDir struct {
	// Name is the name of the directory in its parent.
	Name string

	parent *os.Root
	// lock is the open directory, which is locked. It is nil on Windows.
	lock *os.File
}

// MakeTempDir creates a temporary directory in parent. TempDir.Close also closes parent.
// MakeTempDir also removes directories that killed processes left in parent; it ignores
// errors of their removal.
func MakeTempDir(parent *os.Root) (*TempDir, error) {
	SweepTempDirs(parent)
	for {
		d := &TempDir{Name: prefix + strings.ToLower(rand.Text()), parent: parent}
		taken, err := d.make()
		if err != nil {
			return nil, fmt.Errorf("making a private directory in %q: %w", parent.Name(), errors.Join(err, d.Close()))
		}
		if !taken {
			return d, nil
		}
	}
}

// MakeTempDirIn is like MakeTempDir for the path of the parent. It also returns the path of the directory.
func MakeTempDirIn(parent string) (d *TempDir, path string, err error) {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return nil, "", fmt.Errorf("making a temporary directory: %w", err)
	}
	if d, err = MakeTempDir(root); err != nil {
		return nil, "", err
	}
	return d, filepath.Join(parent, d.Name), nil
}

// make creates and locks the directory. taken is true if another process removed or
// locked the directory before make could lock it.
func (d *TempDir) make() (taken bool, err error) {
	if err := d.parent.Mkdir(d.Name, 0o700); err != nil || !locks {
		return false, err
	}
	d.lock, err = lock(d.parent, d.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return d.lock == nil, err
}

// lock opens and locks the directory called name; closing the file unlocks it. It
// returns nil if another process has locked the directory.
func lock(parent *os.Root, name string) (*os.File, error) {
	f, err := parent.Open(name)
	if err != nil {
		return nil, err
	}
	free, err := TryLock(f, ExclusiveLock)
	if free && err == nil {
		// Another process may have removed the directory before it was locked.
		_, err = parent.Lstat(name)
	}
	if !free || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// SweepTempDirs removes the directories that killed processes left in parent, and ignores errors. On
// Windows it removes none, because directories cannot be locked there.
func SweepTempDirs(parent *os.Root) {
	if !locks {
		return
	}
	names, _ := ReadNames(parent)
	for _, name := range names {
		if info, err := parent.Lstat(name); !tempDirName().MatchString(name) || err != nil || !info.IsDir() {
			continue
		}
		if f, err := lock(parent, name); f != nil && err == nil {
			_ = errors.Join(RemoveAll(parent, name), f.Close())
		}
	}
}

// Give changes the owner of the directory. This requires root privileges.
func (d *TempDir) Give(uid, gid int) error { return d.parent.Lchown(d.Name, uid, gid) }

// Close removes the directory and its contents, and closes its parent.
func (d *TempDir) Close() error {
	err := RemoveAll(d.parent, d.Name)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	if err = errors.Join(err, d.parent.Close()); err != nil {
		return fmt.Errorf("removing a private directory: %w", err)
	}
	return nil
}
