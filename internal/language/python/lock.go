package python

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

const uvLock = "uv.lock"

// maxText limits the bytes of a lock file or a pyproject.toml.
const maxText = 64 << 20

// readLock reads the first lock file that a folder has, or the uv.lock of the workspace in
// root that has the folder as a member.
func readLock(dir, root string) (*resolve.Lock, error) {
	requirements := func(file string, data []byte) (*resolve.Lock, error) {
		return resolve.ParseRequirements(file, data, func(name string) ([]byte, error) {
			folder, err := inside(root, dir, path.Dir(name))
			if err != nil {
				return nil, err
			}
			return fsx.ReadFile(filepath.Join(folder, path.Base(name)), maxText)
		})
	}
	for _, kind := range []struct {
		name  string
		parse func(file string, data []byte) (*resolve.Lock, error)
	}{
		{uvLock, resolve.ParseUV},
		{"pylock.toml", resolve.ParsePylock},
		{"requirements.txt", requirements},
	} {
		data, err := fsx.ReadFile(filepath.Join(dir, kind.name), maxText)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", kind.name, err)
		}
		return kind.parse(kind.name, data)
	}
	return readWorkspace(dir, root)
}

func readWorkspace(dir, root string) (*resolve.Lock, error) {
	for at := range fsx.Parents(filepath.Join(dir, "..")) {
		if !fsx.IsWithin(root, at) {
			break
		}
		data, err := fsx.ReadFile(filepath.Join(at, uvLock), maxText)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", uvLock, err)
		}
		lock, err := resolve.ParseUV(uvLock, data)
		if err != nil {
			return nil, err
		}
		from, err := fsx.Relative(at, dir)
		if lock.From = filepath.ToSlash(from); err != nil {
			return nil, err
		}
		if _, ok := lock.Root(); ok {
			return lock, nil
		}
	}
	return nil, hint.Wrap(errors.New("expected a lock file: uv.lock, pylock.toml, or requirements.txt with hashes"), "create one, for example with uv lock")
}
