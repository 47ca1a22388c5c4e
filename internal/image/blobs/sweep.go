package blobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// A Usage counts what is in a directory, or what was taken out of it.
type Usage struct {
	// Blobs is how many blobs there are, and Bytes how large they are together.
	Blobs int
	Bytes int64
	// Leftovers is how many files there are of blobs that are not whole, and
	// LeftoverBytes how large those are together.
	Leftovers     int
	LeftoverBytes int64
}

// Usage returns what is there. Files that come or go meanwhile are counted or
// not.
func (d *Dir) Usage() (Usage, error) {
	return d.each(func(string) (bool, error) { return true, nil })
}

// Sweep removes all blobs but those of keep, and what killed processes have
// left. It returns what it removed, or would remove if dry is set. It needs
// the directory by Seize.
func (d *Dir) Sweep(keep map[v1.Hash]bool, dry bool) (Usage, error) {
	return d.each(func(path string) (bool, error) {
		folder, name := filepath.Split(path)
		switch {
		case filepath.Base(folder) == partsFolder:
			return removeUnlocked(path, dry)
		case keep[v1.Hash{Algorithm: sumFolder, Hex: name}]:
			return false, nil
		case dry:
			return true, nil
		default:
			return true, os.Remove(path)
		}
	})
}

var digits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// each calls take for every file that is the directory's own, and counts those
// that it takes.
func (d *Dir) each(take func(path string) (bool, error)) (u Usage, err error) {
	for _, folder := range []string{filepath.Join(blobsFolder, sumFolder), partsFolder} {
		entries, err := os.ReadDir(filepath.Join(d.path, folder))
		if err != nil {
			return u, fsx.Cause(err)
		}
		for _, e := range entries {
			blob := folder != partsFolder && digits().MatchString(e.Name())
			if !e.Type().IsRegular() || !blob && !isLeftover(folder, e.Name()) {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return u, fsx.Cause(err)
			}
			taken, err := take(filepath.Join(d.path, folder, e.Name()))
			if err != nil {
				return u, err
			}
			switch {
			case taken && blob:
				u.Blobs++
				u.Bytes += info.Size()
			case taken:
				u.Leftovers++
				u.LeftoverBytes += info.Size()
			}
		}
	}
	return u, nil
}

// isLeftover reports whether a name is that of a file that is not complete.
func isLeftover(folder, name string) bool {
	if folder == partsFolder {
		sum, _, _ := strings.Cut(name, ".")
		return digits().MatchString(sum)
	}
	return fsx.IsTemporary(name)
}
