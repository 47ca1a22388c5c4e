package docker

import (
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
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
)

// Directories in leases.dir: the first contains leases, the second locks of container
// names.
const (
	rendersFolder = "docker/renders"
	namesFolder   = "docker/names"
)

// leases records each container in a file, a lease, so that a later process can clean up
// the container. A process keeps its leases locked while it lives: if a lease can be
// locked, its process is dead. Processes in other containers or on other machines must
// use another directory, because they do not see the locks, and would treat a
// running process as dead.
type leases struct{ dir string }

// A lease records one container of one process.
type lease struct {
	// Host is the address of the engine that has the container.
	Host string `json:"host"`
	// Container is the name of a new container, or the id of a container that existed
	// before.
	Container string `json:"container"`
	Adopted   bool   `json:"adopted,omitempty"`
	// Name is the container name that the user requested, or "".
	Name string `json:"name,omitempty"`
	// Cleanup says what happens to the container.
	Cleanup cleanup `json:"cleanup"`
}

// write writes a lease to file, or to a new file if file is nil. It must be called before
// the container is created or used.
func (l leases) write(file *os.File, record lease) (_ *os.File, err error) {
	if file == nil {
		file, err = createLocked(filepath.Join(l.dir, rendersFolder))
	}
	if err == nil {
		err = json.NewEncoder(io.NewOffsetWriter(file, 0)).Encode(record)
	}
	if err != nil {
		return file, fmt.Errorf("recording containers in %q: %w", l.dir, fsx.Cause(err))
	}
	return file, nil
}

// end unlocks the lease in file. If ended is true, it also removes the file.
func (l leases) end(file *os.File, ended bool) error {
	err := file.Close()
	if ended {
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
		// Another process has locked the new file first, to check whether the lease has
		// expired. Create another file.
		if err = errors.Join(err, f.Close(), removeFile(f.Name())); err != nil {
			return nil, err
		}
	}
}

// maxLease limits the bytes that are read from the file of a lease.
const maxLease = 1 << 20

// maxEmpty is the age at which the file of a lease that was never written is removed.
const maxEmpty = time.Hour

// endExpired calls the function end for each lease of a dead process. If end returns
// true, endExpired removes the lease.
func (l leases) endExpired(end func(id string, record lease) (bool, error)) error {
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
		ended, err := endFile(path, func(record lease) (bool, error) { return end(e.Name(), record) })
		if err == nil && ended {
			err = removeFile(path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// endFile calls the function end with the lease in a file if the process that wrote the
// lease is dead. ended reports whether the lease can be removed.
func endFile(path string, end func(lease) (bool, error)) (ended bool, err error) {
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
		// The process that created the file may not have written the lease yet.
		return err == nil && time.Since(info.ModTime()) > maxEmpty, fsx.Cause(err)
	}
	var record lease
	if json.NewDecoder(io.LimitReader(f, maxLease)).Decode(&record) != nil {
		// The process was killed while it wrote the lease, before it created the container.
		return true, nil
	}
	return end(record)
}

// share locks the name of a container, which several renders can do at the same time. It
// waits while another process cleans up the container.
func (l leases) share(ctx context.Context, host, name string) (*os.File, error) {
	for {
		f, err := l.lock(host, name, fsx.SharedLock)
		if err != nil || f != nil {
			return f, err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return nil, err
		}
	}
}

// endUnshared calls the function end if no process uses the container with this name, and
// reports whether it did. Until end returns, no other process can begin to use the
// container.
func (l leases) endUnshared(host, name string, end func() error) (is bool, err error) {
	f, err := l.lock(host, name, fsx.ExclusiveLock)
	if err != nil || f == nil {
		return false, err
	}
	return true, errors.Join(end(), f.Close())
}

// lock locks the name of a container until the returned file is closed. It returns nil if
// another process has a conflicting lock.
func (l leases) lock(host, name string, mode fsx.LockMode) (*os.File, error) {
	sum := sha256.Sum256([]byte(host + "\n" + name))
	path := filepath.Join(l.dir, namesFolder, hex.EncodeToString(sum[:]))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the container name %q: %w", name, fsx.Cause(err))
	}
	ok, err := fsx.TryLock(f, mode)
	if err != nil || !ok {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// stopGrace is the time in seconds for a function to end before it is killed.
const stopGrace = 2

// shortPause is the time between two checks whether another process has unlocked a name,
// or created or removed a container.
const shortPause = 20 * time.Millisecond

// sweep cleans up the containers of killed processes, and removes their leases.
func (d *Docker) sweep(ctx context.Context, engine *dockerengine.Engine) error {
	return d.leases.endExpired(func(id string, record lease) (bool, error) {
		if record.Host != engine.Endpoint().Host {
			return false, nil
		}
		found, err := engine.ContainerInspect(ctx, record.Container, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, engine.Explain(ctx, err)
		}
		if !record.Adopted && found.Container.Config.Labels[labelRender] != id {
			return true, nil // a container of another lease has this name now
		}
		record.Container = found.Container.ID
		return d.end(ctx, engine, record)
	})
}

// end cleans up the container of a lease. It returns false if other processes still use
// the container.
func (d *Docker) end(ctx context.Context, engine *dockerengine.Engine, record lease) (ended bool, err error) {
	if record.Container == "" || record.Cleanup == orphan {
		return true, nil
	}
	if record.Name == "" {
		return true, end(ctx, engine, record)
	}
	return d.leases.endUnshared(record.Host, record.Name, func() error { return end(ctx, engine, record) })
}

func end(ctx context.Context, engine *dockerengine.Engine, record lease) error {
	if record.Cleanup == stop {
		grace := stopGrace
		_, err := engine.ContainerStop(ctx, record.Container, client.ContainerStopOptions{Timeout: &grace})
		if err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("stopping container %q: %w", record.Container, engine.Explain(ctx, err))
		}
		return nil
	}
	_, err := engine.ContainerRemove(ctx, record.Container, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) {
		err = waitRemoved(ctx, engine, record.Container)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("removing container %q: %w", record.Container, engine.Explain(ctx, err))
	}
	return nil
}

// waitRemoved waits until another client of the engine has removed a container. It always
// returns an error: a not-found error after the removal.
func waitRemoved(ctx context.Context, engine *dockerengine.Engine, id string) error {
	for {
		if _, err := engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err != nil {
			return err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return err
		}
	}
}
