package python

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
)

// maxProgram limits the bytes of an interpreter or a libc that are searched for a version.
const maxProgram = 64 << 20

// A base describes Python in a base image: the target of wheels, and the path of the
// interpreter.
type base struct {
	resolve.Target
	Interpreter string
	// Modules are the names of the modules and packages in all folders of Python, without the standard
	// library.
	Modules map[string]bool
}

var (
	interpreter  = proc.Regexp(`^usr/(?:local/)?bin/python3\.([0-9]{1,3})$`)
	baseModule   = proc.Regexp(`(?:^|/)lib(?:64)?/python3(?:\.[0-9]+)?/(?:site-packages/|dist-packages/|lib-dynload/)?([A-Za-z]\w*)(?:[./]|$)`)
	glibcVersion = proc.Regexp(`GNU C Library [^\n]{0,200} version (2)\.([0-9]{1,3})`)
)

// readBase returns the description of a base image. It keeps the result in the cache, because
// scanBase reads all layers.
func (s *store) readBase(ctx context.Context, img v1.Image, arch string) (b base, err error) {
	config, err := img.ConfigFile()
	if err != nil {
		return b, fmt.Errorf("reading the base image: %w", err)
	}
	sum := sha256.Sum256(fmt.Append(nil, arch, config.RootFS.DiffIDs))
	valid := func(b base) bool { return b.Interpreter != "" && b.Arch == arch && b.Modules != nil }
	return cached(filepath.Join(s.dir, basesFolder, fmt.Sprintf("%x.json", sum)), valid, func() (base, error) {
		b, err := scanBase(ctx, img, arch)
		if err != nil {
			err = fmt.Errorf("reading the base image: %w", err)
		}
		return b, err
	})
}

// scanBase finds the interpreter and the libc in the layers of an image. If several layers
// have one of them, the last layer decides.
func scanBase(ctx context.Context, img v1.Image, arch string) (base, error) {
	b := base{Target: resolve.Target{Arch: arch, LibcMajor: 2, LibcMinor: 17}, Modules: map[string]bool{}}
	err := oci.ReadLayers(ctx, img, func(h *tar.Header, content io.Reader) error {
		return b.file(strings.TrimPrefix(path.Clean("/"+h.Name), "/"), h, content)
	})
	if err != nil {
		return b, err
	}
	if b.Interpreter == "" {
		return b, hint.Wrap(errors.New("it has no program /usr/bin/python3.X"), "use a base image with Python 3")
	}
	return b, nil
}

func (b *base) file(name string, h *tar.Header, content io.Reader) error {
	m := interpreter().FindStringSubmatch(name)
	short := path.Base(name)
	// Debian's sitecustomize is a link to a file that only sets a handler of exceptions.
	if in := baseModule().FindStringSubmatch(name); in != nil && !isStandard(in[1]) && (in[1] != "sitecustomize" || h.Typeflag == tar.TypeReg) {
		b.Modules[in[1]] = true
	}
	switch {
	case m != nil && h.Typeflag != tar.TypeDir:
		b.Minor, _ = strconv.Atoi(m[1]) // the pattern allows three digits
		data, err := io.ReadAll(io.LimitReader(content, maxProgram))
		b.Patch, b.Interpreter = patchVersion(data, b.Minor), "/"+name
		return err
	case short == "libc.so.6" && h.Typeflag == tar.TypeReg:
		data, err := io.ReadAll(io.LimitReader(content, maxProgram))
		if m := glibcVersion().FindSubmatch(data); m != nil {
			b.Musl, b.LibcMajor = false, 2
			b.LibcMinor, _ = strconv.Atoi(string(m[2]))
		}
		return err
	case strings.HasPrefix(short, "ld-musl-"):
		b.Musl, b.LibcMajor, b.LibcMinor = true, 1, 2
	}
	return nil
}

// patchVersion returns the third number of the version that an interpreter contains, or 0.
func patchVersion(program []byte, minor int) int {
	mark := fmt.Appendf(nil, "\x003.%d.", minor)
	for _, rest, ok := bytes.Cut(program, mark); ok; _, rest, ok = bytes.Cut(rest, mark) {
		digits, _, ended := bytes.Cut(rest[:min(3, len(rest))], []byte{0})
		if n, err := strconv.Atoi(string(digits)); err == nil && ended {
			return n
		}
	}
	return 0
}
