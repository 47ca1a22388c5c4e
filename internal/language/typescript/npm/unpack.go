package npm

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

// The limits of paths in a tarball.
const (
	maxPath  = 1024
	maxDepth = 64
)

// unpack writes the files of a package's tarball below root, as npm does: without the
// first folder of each path, and without links. Files are readable by their owner, and
// executable if they are in the tarball.
func unpack(ctx context.Context, tarball io.Reader, root *os.Root) (Facts, error) {
	u := &unpacker{root: root, made: map[string]bool{".": true}, left: maxUnpacked}
	zip, err := gzip.NewReader(bufio.NewReaderSize(tarball, 64<<10))
	if err != nil {
		return Facts{}, fmt.Errorf("expected a tar.gz file: %w", err)
	}
	err = oci.ReadTar(oci.Reader(ctx, zip), func(h *tar.Header, content io.Reader) error {
		if err := u.add(h, content); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
		return nil
	})
	if err != nil {
		return Facts{}, err
	}
	if !u.made[ManifestFile] {
		return Facts{}, errors.New("it has no " + ManifestFile)
	}
	return u.facts, zip.Close()
}

type unpacker struct {
	root *os.Root
	// made has the paths of the folders and files that were created.
	made  map[string]bool
	files int
	left  int64 // the number of bytes that may be written
	facts Facts
}

func (u *unpacker) add(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := cleaned(h.Name)
	if err != nil || name == "" {
		return err
	}
	if u.files++; u.files > maxFiles {
		return fmt.Errorf("the package has more than %d files", maxFiles)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.folder(name)
	case tar.TypeReg:
		return u.file(name, h, content)
	case tar.TypeSymlink, tar.TypeLink:
		u.facts.Skipped = append(u.facts.Skipped, name)
		return nil
	default:
		return fmt.Errorf("expected a file or a folder, got type %q", h.Typeflag)
	}
}

// cleaned returns the path of an entry without its first folder, or "" for that folder.
func cleaned(name string) (string, error) {
	if len(name) > maxPath || strings.Count(name, "/") > maxDepth {
		return "", errors.New("the path is too long")
	}
	if strings.ContainsAny(name, "\\\x00") {
		return "", errors.New("the path has a backslash or a NUL")
	}
	clean := path.Clean(name)
	if path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("the path leads outside of the package")
	}
	_, inside, _ := strings.Cut(clean, "/")
	if inside != "" && !filepath.IsLocal(filepath.FromSlash(inside)) {
		return "", errors.New("the path is not allowed as the name of a file")
	}
	if strings.HasPrefix(path.Base(inside), oci.Whiteout) {
		return "", errors.New("the name would mark another file as deleted in an image")
	}
	return inside, nil
}

func (u *unpacker) folder(name string) error {
	if u.made[name] {
		return nil
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fsx.Cause(err)
	}
	if info, err := u.root.Lstat(name); err != nil || !info.IsDir() {
		return errors.New("the package has a file and a folder of this name")
	}
	u.made[name] = true
	return nil
}

// file writes a file. The last of several entries with one path remains, as with npm.
func (u *unpacker) file(name string, h *tar.Header, content io.Reader) (err error) {
	if u.left -= h.Size; h.Size < 0 || u.left < 0 {
		return fmt.Errorf("the package is larger than %d GiB", maxUnpacked>>30)
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	mode := fs.FileMode(0o444)
	if h.Mode&0o100 != 0 {
		mode = 0o555
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		if err := u.root.Remove(name); err != nil {
			return errors.New("the package has a file and a folder of this name")
		}
		f, err = u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	}
	if err != nil {
		return fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return fsx.Cause(err)
	}
	switch {
	case name == ManifestFile:
		u.made[name] = true
	case name == "binding.gyp":
		u.facts.Gyp = true
	case path.Ext(name) == ".node":
		u.facts.Native = true
	}
	return nil
}
