package python

import (
	"context"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A FileSet has the files of several packages. The zero value is empty.
type FileSet struct {
	files map[string]owned
	size  int64
}

type owned struct {
	File
	owner string
}

// Add adds the files of a package. Two packages may have the same file if its content is
// equal. Otherwise, Add returns an error for the second file at a path.
func (s *FileSet) Add(owner string, files []File) error {
	if s.files == nil {
		s.files = map[string]owned{}
	}
	for _, f := range files {
		if old, ok := s.files[f.Path]; ok {
			if old.owner == owner || old.Digest != f.Digest || old.Size != f.Size || old.Link != f.Link {
				return fmt.Errorf("packages %s and %s both have the file %q, with different content", old.owner, owner, "/"+f.Path)
			}
			continue
		}
		s.files[f.Path] = owned{f, owner}
		if s.size += f.Size; s.size > runtimeimage.MaxBytes || len(s.files) > runtimeimage.MaxFiles {
			return fmt.Errorf("the packages have more than %d files or %d GiB", runtimeimage.MaxFiles, runtimeimage.MaxBytes>>30)
		}
	}
	return nil
}

// Files returns all files, sorted by path. It returns an error if a file of a package is
// where another has a folder.
func (s *FileSet) Files() ([]File, error) {
	all := make([]File, 0, len(s.files))
	for _, f := range s.files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if other, ok := s.files[dir]; ok {
				return nil, fmt.Errorf("package %s has the file %q, where package %s has a folder", other.owner, "/"+dir, f.owner)
			}
		}
		all = append(all, f.File)
	}
	sortFiles(all)
	return all, nil
}

// WriteTar writes the tar of a layer with the files, which are sorted by path, and the
// folders that lead to them. Root owns all entries, and their times are zero. WriteTar
// verifies the content by the digests of the files.
func WriteTar(ctx context.Context, w io.Writer, files []File) error {
	all := make([]runtimeimage.TarFile, len(files))
	for i, f := range files {
		if all[i] = f.TarFile; f.Link == "" {
			all[i].Open = f.openVerified
		}
	}
	return runtimeimage.WriteTar(ctx, w, all)
}

// openVerified returns the content, whose reader returns errDigest at the end if the digest differs.
func (f File) openVerified() (io.ReadCloser, error) {
	sum, want, err := newHash(f.Digest)
	if err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &verifier{r, sum, want}, nil
}

type verifier struct {
	io.ReadCloser
	sum  hash.Hash
	want string
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n])
	if err == io.EOF && base64.RawURLEncoding.EncodeToString(v.sum.Sum(nil)) != v.want {
		err = errDigest
	}
	return n, err
}

// keyOf returns a text that is equal for equal lists of files.
func keyOf(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%q %o %d %s %q\n", f.Path, f.Mode, f.Size, f.Digest, f.Link)
	}
	return b.String()
}
