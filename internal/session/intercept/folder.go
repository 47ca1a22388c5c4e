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

// entryName matches the name of an entry. A file that is being written has a
// temporary name of fsx.
var entryName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}\.response$`) })

// abandoned is the age from which a file that is being written belongs to
// nobody any more: whoever wrote it was killed.
const abandoned = time.Hour

func pathOf(dir string, k key) string {
	return filepath.Join(dir, hex.EncodeToString(k[:])+".response")
}

// write puts e into its file. No one but the owner can read it, since answers
// may hold connection details.
func write(path string, k key, e entry) error {
	b, err := encode(k, e)
	if err != nil || int64(len(b)) > maxFile {
		return err
	}
	if err := fsx.WriteFile(path, 0o600, b); err != nil {
		return fmt.Errorf("keeping a response: %w", err)
	}
	return nil
}

// read returns the entry in a file, or the zero entry if there is none. What
// is there but is no entry of k is removed; should another process have put a
// good one into its place by then, that is a call more.
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

// readFile returns the first bytes of a regular file, at most so many, and none
// of anything else, such as a link.
func readFile(path string, most int64) (b []byte, err error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err == nil {
		defer f.Close()
		b, err = io.ReadAll(io.LimitReader(f, most))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	}
	return b, nil
}

// remove removes a file that may be gone.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %q: %w", path, fsx.Cause(err))
	}
	return nil
}

// PruneCache removes the answers in a folder that are over at the time now, what is
// no whole answer but has the name of one, and what processes that were killed
// left behind. It returns the number of files that it removed. Other files
// stay; a folder that is not there is empty. It goes on after an error, and
// returns all.
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

// stale reports whether a file is of this package and of no use at the time now.
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
	return !whole || entry{expires: expires}.over(now), err
}
