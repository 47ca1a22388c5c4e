package xpkg

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
)

// ErrNoPackage is returned for an image that is not a package.
var ErrNoPackage = errors.New("the image is not a package: it contains no " + metadataFile)

// Limits of the search for package.yaml in an untrusted image: the uncompressed bytes and
// the entries of its layers, and the length of one name and of all names.
const (
	maxRead           = 4 << 30
	maxFiles          = 500_000
	maxName, maxNames = 4 << 10, 64 << 20
)

// PackageYAML returns the package.yaml of an image as the control plane reads it:
// the first file of that name, in any directory, of the first layer that is
// annotated as the base layer. Without such a layer, it searches the whole root file
// system. More than 200 MiB are an error. PackageYAML reads a base layer to its end,
// which verifies the layer's digest.
func PackageYAML(ctx context.Context, img v1.Image) ([]byte, error) {
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	s := &search{left: maxRead, seen: map[string]bool{}}
	layers, end := p.Layers, func(*oci.Tar) error { return nil }
	if i := marked(p, BaseMark); i >= 0 {
		layers, s.seen, end = layers[i:i+1], nil, drain
	}
	for _, l := range slices.Backward(layers) {
		data, err := readFile(ctx, l, &s.left, s.match, end)
		if errors.Is(err, oci.ErrTooLarge) {
			err = fmt.Errorf("the layers are larger than %d GiB", maxRead>>30)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the image's layers: %w", err)
		}
		if data != nil {
			return data, nil
		}
	}
	return nil, ErrNoPackage
}

// marked returns the index of the first layer whose Annotation has the value mark, or -1.
func marked(p oci.Parts, mark string) int {
	return slices.IndexFunc(p.Descriptors, func(d v1.Descriptor) bool { return d.Annotations[Annotation] == mark })
}

// readFile returns the first file of a layer for which match returns true, or nil. Then it
// calls end, which may read the rest of the layer. A file of more than 200 MiB is an error.
func readFile(ctx context.Context, l v1.Layer, left *int64, match func(*tar.Header) (bool, error), end func(*oci.Tar) error) (data []byte, err error) {
	rc, err := oci.Plain(ctx, l, left)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case h.Size > *left:
			return nil, oci.ErrTooLarge
		}
		found, err := match(h)
		switch {
		case err != nil:
			return nil, err
		case !found:
			continue
		case h.Size > maxYAML:
			return nil, fmt.Errorf("%s is larger than %d MiB", h.Name, maxYAML>>20)
		}
		if data, err = io.ReadAll(tr); err != nil {
			return nil, err
		}
		return data, end(rc)
	}
}

// A search looks for package.yaml in layers, the top layer first.
type search struct {
	left int64
	// files counts the entries, and names the bytes of their names.
	files, names int
	// seen has the names of the entries that were read, and whether each hides the files
	// below it in lower layers. It is nil if the only layer is a base layer.
	seen map[string]bool
}

// match reports whether an entry is package.yaml, and no upper layer replaces
// it or deletes a parent directory of it (OCI image spec, "Whiteouts").
func (s *search) match(h *tar.Header) (found bool, err error) {
	s.files++
	s.names += len(h.Name)
	if s.files > maxFiles || len(h.Name) > maxName || s.names > maxNames {
		return false, errors.New("the layers have more files, or longer names, than the limits allow")
	}
	found = path.Base(h.Name) == metadataFile && h.Typeflag == tar.TypeReg
	if s.seen == nil {
		return found, nil
	}
	name := path.Clean(h.Name)
	base, deleted := strings.CutPrefix(path.Base(name), oci.Whiteout)
	name = path.Join(path.Dir(name), base)
	if _, again := s.seen[name]; again || found && s.hidden(name) {
		return false, nil
	}
	s.seen[name] = deleted || h.Typeflag != tar.TypeDir
	return found, nil
}

// hidden reports whether an upper layer hides a parent directory of name.
func (s *search) hidden(name string) bool {
	for name != "." && name != "/" {
		if name = path.Dir(name); s.seen[name] {
			return true
		}
	}
	return false
}

// drain reads a base layer to its end, which verifies its digest.
func drain(r *oci.Tar) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxYAML))
	if err == nil && n == maxYAML {
		err = fmt.Errorf("the base layer is larger than %d MiB", maxYAML>>20)
	}
	return err
}

// Examples returns the examples of a package's image, a stream of YAML documents
// of up to 200 MiB. A package without examples is an error.
func Examples(ctx context.Context, img v1.Image) ([]byte, error) {
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	i := marked(p, ExamplesMark)
	if i < 0 {
		return nil, errors.New("the package has no examples")
	}
	left := int64(maxYAML)
	match := func(h *tar.Header) (bool, error) {
		return strings.TrimPrefix(h.Name, "./") == examplesFile && h.Typeflag == tar.TypeReg, nil
	}
	data, err := readFile(ctx, p.Layers[i], &left, match, (*oci.Tar).Finish)
	if data == nil && err == nil {
		err = fmt.Errorf("the layer of examples has no %s", examplesFile)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the package's examples: %w", err)
	}
	return data, nil
}

// Metadata returns the package metadata object of a package's image.
func Metadata(ctx context.Context, img v1.Image) (Object, error) {
	data, err := PackageYAML(ctx, img)
	if err != nil {
		return Object{}, err
	}
	docs, err := manifest.Split(metadataFile, data)
	if err != nil {
		return Object{}, err
	}
	for _, doc := range docs {
		data, err := doc.Object()
		if err != nil {
			return Object{}, err
		}
		if o, err := identify(doc, data); err == nil && isMeta(o) {
			return o, nil
		}
	}
	return Object{}, fmt.Errorf("the %s has no object of %s", metadataFile, metaGroup)
}

// DefaultFileName returns the Label of the first 50 bytes of the package's name
// and the first 12 digits of the artifact's digest, and ".xpkg". The crossplane
// CLI uses the digest of the image without annotations.
func DefaultFileName(pkg *Package, a Artifact) (string, error) {
	digest, err := a.Digest()
	if err != nil {
		return "", fmt.Errorf("finding the package's digest: %w", err)
	}
	name := pkg.Meta.Name
	name = name[:min(len(name), 50)]
	return Label(name+"-"+digest.Hex[:12]) + ".xpkg", nil
}

// Label returns s as a DNS label of at most 63 bytes. It keeps lower-case letters and
// digits, and turns ".", "/" and ":" into "-". Other characters are dropped.
func Label(s string) string {
	const most = 63
	var b strings.Builder
	for i := range min(len(s), most) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteByte(c)
		case strings.IndexByte("./:-", c) >= 0 && i > 0 && i < most-1 && i < len(s)-1:
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
