package registry

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// A journal is a file with one change in JSON per line. A change is written to the file
// before it is applied. If the process is killed during a write, the last line has no
// newline: the change was not confirmed to a client, and is discarded.
type journal struct {
	path string
	// broken is set if the end of the file is unknown after a failed write. In that case add
	// returns broken and writes nothing.
	broken error
}

// add appends c to the file, completely or not at all, and syncs it to disk.
func (j *journal) add(c change) error {
	if j.broken != nil {
		return j.broken
	}
	line, _ := json.Marshal(c) // Its types have no errors.
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}
	if cut := os.Truncate(j.path, at); cut != nil {
		// A line after a partly written line could not be read, so no more changes may be added.
		j.broken = fmt.Errorf("the registry accepts no changes until it is restarted, because its journal cannot be repaired: %w", cut)
	}
	return errors.Join(err, j.broken)
}

// read calls do for each change in the file. It removes a last line without a newline.
func (j *journal) read(do func(change) error) (err error) {
	f, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading registry journal: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewReader(f)
	var whole int64
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return f.Truncate(whole)
		}
		if err != nil {
			return fmt.Errorf("reading registry journal: %w", err)
		}
		var c change
		if err = json.Unmarshal(line, &c); err == nil {
			if err = do(c); err != nil {
				err = fmt.Errorf("applying %s of %q in repository %q: %w", c.Method, c.Reference, c.Repository, err)
			}
		}
		if err != nil {
			return fmt.Errorf("reading registry journal %q, line %d: %w", j.path, n, err)
		}
		whole += int64(len(line))
	}
}

const (
	journalFile = "manifests.jsonl"
	// lockFile is locked while a registry uses its directory. It is never removed, because
	// it also marks the directory as the directory of a registry.
	lockFile = "registry.lock"
)

// lockDir creates dir if it does not exist and locks it. Closing the returned file releases
// the lock. A directory that is not empty must belong to a registry.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fsx.Cause(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	marked := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == lockFile || e.Name() == journalFile })
	if len(entries) > 0 && !marked {
		return nil, hint.Wrap(errors.New("the directory is not empty, and does not belong to a registry"), "name an empty directory, or one that does not exist")
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	ok, err := fsx.TryLock(f, fsx.ExclusiveLock)
	if err == nil && !ok {
		err = hint.Wrap(errors.New("another registry uses the directory"), "stop that registry, or name another directory")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepare creates the folders in dir that are missing, and removes unfinished uploads.
func prepare(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, folder := range []string{"uploads", "blobs/sha256", "blobs/sha512"} {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(root.FS(), "uploads")
	if err != nil {
		return err
	}
	for _, e := range entries {
		isUpload := e.Type().IsRegular() && len(e.Name()) == len(uuid.UUID{}.String()) && uuid.Validate(e.Name()) == nil
		if isUpload {
			if err := root.Remove("uploads/" + e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
