package image

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// Usage counts the files in a directory, or the files that Sweep removed.
type Usage struct {
	// Blobs is the number of blobs, and Bytes their total size.
	Blobs int
	Bytes int64
	// Leftovers is the number of incomplete files, and LeftoverBytes their total size.
	Leftovers     int
	LeftoverBytes int64
}

// Usage counts the files in the directory.
func (d *BlobDir) Usage() (Usage, error) {
	return d.each(func(string) (bool, error) { return true, nil })
}

// Sweep removes all blobs except keep, and files that killed processes left. It returns
// what it removed, or would remove if dry is set. The caller must have called Seize.
func (d *BlobDir) Sweep(keep map[v1.Hash]bool, dry bool) (Usage, error) {
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

func isSum(name string) bool {
	_, err := v1.NewHash(sumFolder + ":" + name)
	return err == nil
}

// each calls match for every blob and incomplete file of the directory. It counts the files
// for which match returns true.
func (d *BlobDir) each(match func(path string) (bool, error)) (u Usage, err error) {
	for _, folder := range []string{filepath.Join(blobsFolder, sumFolder), partsFolder} {
		entries, err := os.ReadDir(filepath.Join(d.path, folder))
		if err != nil {
			return u, fsx.Cause(err)
		}
		for _, e := range entries {
			blob := folder != partsFolder && isSum(e.Name())
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
			matched, err := match(filepath.Join(d.path, folder, e.Name()))
			if err != nil {
				return u, err
			}
			switch {
			case matched && blob:
				u.Blobs++
				u.Bytes += info.Size()
			case matched:
				u.Leftovers++
				u.LeftoverBytes += info.Size()
			}
		}
	}
	return u, nil
}

func isLeftover(folder, name string) bool {
	if folder == partsFolder {
		sum, _, _ := strings.Cut(name, ".")
		return isSum(sum)
	}
	return fsx.IsTemporary(name)
}
