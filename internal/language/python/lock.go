package python

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// maxText limits the bytes of a lock file or a pyproject.toml.
const maxText = 64 << 20

// readLock reads the first lock file that a folder has.
func readLock(dir string) (*resolve.Lock, error) {
	for _, kind := range []struct {
		name  string
		parse func(file string, data []byte) (*resolve.Lock, error)
	}{
		{"uv.lock", resolve.ParseUV},
		{"pylock.toml", resolve.ParsePylock},
		{"requirements.txt", resolve.ParseRequirements},
	} {
		data, err := readText(filepath.Join(dir, kind.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", kind.name, err)
		}
		return kind.parse(kind.name, data)
	}
	return nil, hint.Wrap(errors.New("expected a lock file: uv.lock, pylock.toml, or requirements.txt with hashes"), "create one, for example with uv lock")
}

func readText(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, fsx.Cause(err)
	}
	if len(data) > maxText {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxText>>20)
	}
	return data, nil
}
