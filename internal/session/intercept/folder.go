package intercept

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// entryName matches the name of an entry.
var entryName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}\.response$`) })

// abandoned is the age of temporary files that a killed process has left.
const abandoned = time.Hour

func pathOf(dir string, k key) string {
	return filepath.Join(dir, hex.EncodeToString(k[:])+".response")
}

// read returns the entry in a file, or the zero entry if there is none. It
// removes an invalid file. If another process replaces the file at that moment,
// one valid entry is lost.
func read(path string, k key) (entry, error) {
	b, err := readFile(path, maxFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	e, ok := parse(k, b)
	if !ok {
		return entry{}, remove(path)
	}
	return e, nil
}

// readFile returns the first bytes of a file, or nothing if it is not regular.
func readFile(path string, most int64) (b []byte, err error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			defer f.Close()
			b, err = io.ReadAll(io.LimitReader(f, most))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	}
	return b, nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %q: %w", path, fsx.Cause(err))
	}
	return nil
}

// PruneCache removes responses that expired before now, invalid files with the
// name of a response, and temporary files of killed processes, and returns
// their number. A missing folder is empty. It continues after errors, and joins
// them.
func PruneCache(ctx context.Context, dir string, now time.Time) (removed int, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reading folder %q: %w", dir, fsx.Cause(err))
	}
	var errs []error
	for _, f := range files {
		if ctx.Err() != nil {
			return removed, fmt.Errorf("pruning %q: %w", dir, context.Cause(ctx))
		}
		path := filepath.Join(dir, f.Name())
		old, err := stale(path, now)
		if err == nil && old {
			if err = remove(path); err == nil {
				removed++
			}
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// stale reports whether a file is a useless response or temporary file.
func stale(path string, now time.Time) (bool, error) {
	name := filepath.Base(path)
	if !entryName().MatchString(name) && !fsx.IsTemporary(name) {
		return false, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	case fsx.IsTemporary(name):
		return now.Sub(info.ModTime()) > abandoned, nil
	}
	header, err := readFile(path, headerSize)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	k, expires, ok := parseHeader(header, info.Size())
	whole := ok && pathOf(filepath.Dir(path), k) == path
	return !whole || !now.Before(expires), err
}
