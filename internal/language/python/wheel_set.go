package python

import (
	"archive/tar"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/oci"
)

// Limits of all files in a layer, as of a directory that becomes a layer.
const (
	maxSetFiles = 1 << 18
	maxSetBytes = 8 << 30
)

// A FileSet has the files of several packages. The zero value is empty.
type FileSet struct {
	files map[string]owned
	size  int64
}

// An owned is a file and the package that it is from.
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
		if s.size += f.Size; s.size > maxSetBytes || len(s.files) > maxSetFiles {
			return fmt.Errorf("the packages have more than %d files or %d GiB", maxSetFiles, maxSetBytes>>30)
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
	tw := tar.NewWriter(w)
	made := map[string]bool{}
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var parents []string
		for dir := path.Dir(f.Path); dir != "." && !made[dir]; dir = path.Dir(dir) {
			made[dir] = true
			parents = append(parents, dir)
		}
		for _, dir := range slices.Backward(parents) {
			if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
				return fmt.Errorf("adding %q: %w", dir, err)
			}
		}
		if err := f.write(ctx, tw); err != nil {
			return fmt.Errorf("adding %q: %w", "/"+f.Path, err)
		}
	}
	return tw.Close()
}

func (f File) write(ctx context.Context, tw *tar.Writer) (err error) {
	if f.Link != "" {
		return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: f.Path, Linkname: f.Link, Mode: 0o777})
	}
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: f.Mode, Size: f.Size}); err != nil {
		return err
	}
	h, want, err := newHash(f.Digest)
	if err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n, err := io.Copy(tw, io.TeeReader(io.LimitReader(oci.Reader(ctx, r), f.Size), h))
	if err != nil {
		return err
	}
	if n != f.Size || base64.RawURLEncoding.EncodeToString(h.Sum(nil)) != want {
		return errDigest
	}
	return nil
}

// keyOf returns a text that is equal for equal lists of files.
func keyOf(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%q %o %d %s %q\n", f.Path, f.Mode, f.Size, f.Digest, f.Link)
	}
	return b.String()
}
