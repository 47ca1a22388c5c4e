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

// Directories below the leases' directory.
const (
	rendersFolder = "docker/renders"
	namesFolder   = "docker/names"
)

// leases records the containers of this process, so that a later process can
// clean them up. The file stays locked while the process lives: a file that can
// be locked is expired. Processes in other containers or on other machines have
// other directories, so that a living process never seems dead.
type leases struct {
	dir string

	mu   sync.Mutex
	file *os.File
	// open is the number of containers in the file. left is set if one of
	// them may still exist.
	open int
	left bool
}

// A lease records one container.
type lease struct {
	// Host is the address of the engine.
	Host string `json:"host"`
	// Container is the name of a new container, or the id of an adopted
	// container.
	Container string `json:"container"`
	Adopted   bool   `json:"adopted,omitempty"`
	// Name is the name that a user chose, or "".
	Name string `json:"name,omitempty"`
	// Cleanup says what to do with the container.
	Cleanup cleanup `json:"cleanup"`
}

// begin creates the file if there is none, and returns the id of this process's
// renders.
func (l *leases) begin() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		file, err := createLocked(filepath.Join(l.dir, rendersFolder))
		if err != nil {
			return "", fmt.Errorf("recording containers in %q: %w", l.dir, fsx.Cause(err))
		}
		l.file = file
	}
	l.open++
	return filepath.Base(l.file.Name()), nil
}

// add records a container before it is created or used.
func (l *leases) add(record lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("recording containers in %q: %w", l.dir, fsx.Cause(err))
	}
	return nil
}

// done ends a lease. ok is false if the container may still exist. Each call of
// begin needs one call of done. The last call removes the file, unless a
// container may still exist.
func (l *leases) done(ok bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.left = l.left || !ok
	if l.open > 0 {
		return nil
	}
	file, left := l.file, l.left
	l.file, l.left = nil, false
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

// createLocked creates a file with a random name, and locks it.
func createLocked(dir string) (*os.File, error) {
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
		// A process that looks for expired leases locked the file
		// first.
		if err = errors.Join(err, f.Close(), removeFile(f.Name())); err != nil {
			return nil, err
		}
	}
}

// maxLeases limits the bytes that are read from a file of leases.
const maxLeases = 1 << 20

// endExpired calls end for each container of a dead process, with the id of its
// render. It removes a file if end returns true for all of its containers.
func (l *leases) endExpired(end func(render string, record lease) (bool, error)) error {
	dir := filepath.Join(l.dir, rendersFolder)
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
		done, err := endFile(path, func(record lease) (bool, error) { return end(e.Name(), record) })
		if err == nil && done {
			err = removeFile(path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// endFile calls end for each lease in the file of a dead process.
func endFile(path string, end func(lease) (bool, error)) (done bool, err error) {
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
		return false, fsx.Cause(err) // it may be new
	}
	done = true
	lines := bufio.NewScanner(io.LimitReader(f, maxLeases))
	for lines.Scan() {
		var record lease
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			continue // the process was killed while it wrote the line, before it created the container
		}
		ok, err := end(record)
		if err != nil {
			return false, err
		}
		done = done && ok
	}
	return done, lines.Err()
}

// A nameLock is a shared lock on the name of a container that several renders
// may use. The last one may clean up the container.
type nameLock struct{ file *os.File }

// share locks the name of a container. It waits while another process cleans up
// that container.
func (l *leases) share(ctx context.Context, host, name string) (nameLock, error) {
	for {
		h, err := l.lock(host, name, fsx.SharedLock)
		if err != nil || h.file != nil {
			return h, err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return nameLock{}, err
		}
	}
}

// endUnshared calls end if no process uses the container with this name. Until
// end returns, no process can begin to use it.
func (l *leases) endUnshared(host, name string, end func() error) (is bool, err error) {
	h, err := l.lock(host, name, fsx.ExclusiveLock)
	if err != nil || h.file == nil {
		return false, err
	}
	return true, errors.Join(end(), h.Close())
}

// Close releases the lock.
func (h nameLock) Close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// lock returns the zero nameLock if another process has a conflicting lock.
func (l *leases) lock(host, name string, mode fsx.LockMode) (nameLock, error) {
	sum := sha256.Sum256([]byte(host + "\n" + name))
	path := filepath.Join(l.dir, namesFolder, hex.EncodeToString(sum[:]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nameLock{}, fmt.Errorf("locking the container name %q: %w", name, fsx.Cause(err))
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nameLock{}, fmt.Errorf("locking the container name %q: %w", name, fsx.Cause(err))
	}
	ok, err := fsx.TryLock(f, mode)
	if err != nil || !ok {
		return nameLock{}, errors.Join(err, f.Close())
	}
	return nameLock{f}, nil
}
