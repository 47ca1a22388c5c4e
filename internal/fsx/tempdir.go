package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// prefix is what names begin with.
const prefix = "xfn-"

// tempDirName is what a name looks like. Nobody else's directory is taken for one.
var tempDirName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + prefix + "[a-z2-7]{26}$") })

// locks tells whether directories can be locked. Windows locks files only, and
// there they stay when a process is killed.
const locks = runtime.GOOS != "windows"

// A Dir is a directory that only its owner may enter, and that is in use: no
// other process removes it.
type TempDir struct {
	// Name is that of the directory in its parent.
	Name string

	parent *os.Root
	lock   *os.File // nil where there is none
}

// MakeTempDir makes a directory in parent, which Close closes, too. It removes others
// there that were made by In and that no process uses any more; one that cannot
// be removed does not matter.
func MakeTempDir(parent *os.Root) (*TempDir, error) {
	if locks {
		sweepTempDirs(parent)
	}
	for {
		d := &TempDir{Name: prefix + strings.ToLower(rand.Text()), parent: parent}
		taken, err := d.make()
		if err != nil {
			return nil, fmt.Errorf("making a private directory: %w", errors.Join(err, d.Close()))
		}
		if !taken {
			return d, nil
		}
	}
}

// make makes and locks the directory. It is taken if another process has found
// it before it was locked, and so has removed it, as one that is left behind.
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

// lock locks a directory until the file is closed. It returns nil if another
// process has it locked.
func lock(parent *os.Root, name string) (*os.File, error) {
	f, err := parent.Open(name)
	if err != nil {
		return nil, err
	}
	free, err := TryLock(f, ExclusiveLock)
	if free && err == nil {
		_, err = parent.Lstat(name) // it may have been removed before it was locked
	}
	if !free || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func sweepTempDirs(parent *os.Root) {
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

// Give gives the directory to another user, as root may.
func (d *TempDir) Give(uid, gid int) error { return d.parent.Lchown(d.Name, uid, gid) }

// Close removes the directory with all that is in it.
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
