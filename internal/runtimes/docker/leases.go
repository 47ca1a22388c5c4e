package docker

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Where notes are, below the folder for them.
const (
	rendersFolder = "docker/renders"
	namesFolder   = "docker/names"
)

// notes keep account of the containers of this process, for those that come
// after it. Their file is locked for as long as the process lives: if it can be
// locked, it is a dead one's. A process in another container, or on another
// machine, has other notes, so none mistakes the living for dead.
type notes struct {
	dir string

	mu   sync.Mutex
	file *os.File
	// open counts the containers that the file tells of, and left tells that one
	// of them is not known to be gone.
	open int
	left bool
}

// A note tells of one container.
type note struct {
	// Host is the address of its engine.
	Host string `json:"host"`
	// Container is its name, or if it was there before, its id.
	Container string `json:"container"`
	Adopted   bool   `json:"adopted,omitempty"`
	// Name is a name that a person gave it, or "".
	Name string `json:"name,omitempty"`
	// Cleanup is what is to become of it.
	Cleanup cleanup `json:"cleanup"`
}

// render returns the id of this process's renders, which it begins to keep
// account of.
func (n *notes) render() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		file, err := newNotes(filepath.Join(n.dir, rendersFolder))
		if err != nil {
			return "", fmt.Errorf("keeping account of containers in %q: %w", n.dir, fsx.Cause(err))
		}
		n.file = file
	}
	n.open++
	return filepath.Base(n.file.Name()), nil
}

// add tells of a container, before that is made or used.
func (n *notes) add(about note) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	line, err := json.Marshal(about)
	if err != nil {
		return err
	}
	if _, err := n.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keeping account of containers in %q: %w", n.dir, fsx.Cause(err))
	}
	return nil
}

// done says that what was to become of a container has, or with ok not set, that
// it may not. Each render is followed by one. Once all are done there is nothing
// to account for.
func (n *notes) done(ok bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open--
	n.left = n.left || !ok
	if n.open > 0 {
		return nil
	}
	file, left := n.file, n.left
	n.file, n.left = nil, false
	err := file.Close()
	if !left {
		err = errors.Join(err, removeFile(file.Name()))
	}
	return err
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing %q: %w", path, fsx.Cause(err))
	}
	return nil
}

// newNotes makes a file of a random name, and locks it.
func newNotes(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(filepath.Join(dir, strings.ToLower(rand.Text())), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		ok, err := fsx.TryLock(f, fsx.ExclusiveLock)
		if ok {
			return f, nil
		}
		// Somebody looked into it at once.
		if err = errors.Join(err, f.Close(), removeFile(f.Name())); err != nil {
			return nil, err
		}
	}
}

// maxNotes bounds what is read of a file of notes, in bytes.
const maxNotes = 1 << 20

// ofDead calls end for each container of a process that ended before it could
// see to it: with its render's id. The notes go once end was true for all.
func (n *notes) ofDead(end func(render string, about note) (bool, error)) error {
	dir := filepath.Join(n.dir, rendersFolder)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %q: %w", dir, fsx.Cause(err))
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		done, err := ifDead(path, func(about note) (bool, error) { return end(e.Name(), about) })
		if err == nil && done {
			err = removeFile(path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ifDead calls end for each of a dead process's notes.
func ifDead(path string, end func(note) (bool, error)) (done bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, fsx.Cause(err)
	}
	defer f.Close()
	if ok, err := fsx.TryLock(f, fsx.ExclusiveLock); err != nil || !ok {
		return false, err
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, fsx.Cause(err) // it may just have been made
	}
	done = true
	lines := bufio.NewScanner(io.LimitReader(f, maxNotes))
	for lines.Scan() {
		var about note
		if json.Unmarshal(lines.Bytes(), &about) != nil {
			continue // its writer was killed, and made no container of it
		}
		ok, err := end(about)
		if err != nil {
			return false, err
		}
		done = done && ok
	}
	return done, lines.Err()
}

// A hold is this process's part in a named container, which several renders may
// use at a time. Whoever is the last may end it.
type hold struct{ file *os.File }

// hold waits until nobody is ending the container of a name.
func (n *notes) hold(ctx context.Context, host, name string) (hold, error) {
	for {
		h, err := n.lock(host, name, fsx.SharedLock)
		if err != nil || h.file != nil {
			return h, err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return hold{}, err
		}
	}
}

// last calls end if nobody uses the container of a name. Until end returns
// nobody begins to.
func (n *notes) last(host, name string, end func() error) (is bool, err error) {
	h, err := n.lock(host, name, fsx.ExclusiveLock)
	if err != nil || h.file == nil {
		return false, err
	}
	return true, errors.Join(end(), h.Close())
}

// Close gives up the hold.
func (h hold) Close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// lock returns the zero hold if somebody has one that does not go with it.
func (n *notes) lock(host, name string, mode fsx.LockMode) (hold, error) {
	sum := sha256.Sum256([]byte(host + "\n" + name))
	path := filepath.Join(n.dir, namesFolder, hex.EncodeToString(sum[:]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return hold{}, fmt.Errorf("locking the container name %q: %w", name, fsx.Cause(err))
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return hold{}, fmt.Errorf("locking the container name %q: %w", name, fsx.Cause(err))
	}
	ok, err := fsx.TryLock(f, mode)
	if err != nil || !ok {
		return hold{}, errors.Join(err, f.Close())
	}
	return hold{f}, nil
}
