package registry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

const (
	journalFile = "manifests.jsonl"
	// lockFile is locked while a registry uses its directory. It is never
	// removed and marks the directory as one of a registry.
	lockFile = "registry.lock"
)

// lockDir creates dir if it does not exist and locks it. Closing the returned
// file releases the lock. A directory that is not empty must belong to a
// registry.
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
		return nil, hint.Wrap(errors.New("it is not empty, and does not belong to a registry"), "name an empty directory, or one that does not exist")
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	ok, err := fsx.TryLock(f, fsx.ExclusiveLock)
	if err == nil && !ok {
		err = hint.Wrap(errors.New("another registry uses it"), "stop that registry, or name another directory")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepare creates the folders in dir and removes unfinished uploads. It changes
// nothing else.
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
