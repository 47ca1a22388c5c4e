package archive

import (
	"archive/tar"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A Begun is a blob in an archive that may end in the middle of it.
type Begun struct {
	// Offset is where the blob begins in the file, and Size how much of it is
	// there. Nobody has checked these bytes.
	Offset, Size int64
}

// ReadBegun finds the blobs in the first size bytes of an archive, in which
// writing stopped. What is no archive has none.
func ReadBegun(r io.ReaderAt, size int64) map[v1.Hash]Begun {
	file := io.NewSectionReader(r, 0, size)
	tr := tar.NewReader(file)
	found := map[v1.Hash]Begun{}
	for range maxEntries {
		h, err := tr.Next()
		if err != nil {
			break
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil || at > size {
			break
		}
		if digest, ok := blobOf(h.Name); ok && h.Typeflag == tar.TypeReg {
			found[digest] = Begun{at, min(h.Size, size-at)}
		}
	}
	return found
}

// blobOf is the digest of the blob that has this name in an archive.
func blobOf(name string) (v1.Hash, bool) {
	rest, ok := strings.CutPrefix(name, "blobs/")
	h, err := v1.NewHash(strings.Replace(rest, "/", ":", 1))
	return h, ok && err == nil && blobPath(h) == name
}
