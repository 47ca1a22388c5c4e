package archive

import (
	"archive/tar"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A PartialBlob is a blob in an archive that may end in the middle of the blob.
type PartialBlob struct {
	// Offset is where the blob begins in the file, and Size how many bytes of it
	// are there. They were not verified.
	Offset, Size int64
}

// ReadPartial finds the blobs in the first size bytes of an archive that was
// partially written. It finds none in other files.
func ReadPartial(r io.ReaderAt, size int64) map[v1.Hash]PartialBlob {
	file := io.NewSectionReader(r, 0, size)
	tr := tar.NewReader(file)
	found := map[v1.Hash]PartialBlob{}
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
			found[digest] = PartialBlob{at, min(h.Size, size-at)}
		}
	}
	return found
}

// blobOf returns the digest of the blob that has this name in an archive.
func blobOf(name string) (v1.Hash, bool) {
	rest, ok := strings.CutPrefix(name, "blobs/")
	h, err := v1.NewHash(strings.Replace(rest, "/", ":", 1))
	return h, ok && err == nil && blobPath(h) == name
}
