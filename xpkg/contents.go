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

// ErrNoPackage is the reason why an image is no package.
var ErrNoPackage = errors.New("it is an image and not a package: it contains no " + metadataFile)

// These bound what the search for package.yaml takes of a stranger's image.
const (
	// maxRead is how many bytes of layers, not compressed, are read.
	maxRead = 4 << 30
	// maxFiles is how many entries they have.
	maxFiles = 500_000
	// maxName and maxNames bound the bytes of an entry's name and of all.
	maxName, maxNames = 4 << 10, 64 << 20
)

// PackageYAML returns the package.yaml of a package's image as the control plane
// reads it: the first file of that name, in any directory, of the first layer that
// is annotated as the base layer, or of the whole root file system if no layer is.
// More than 200 MiB are an error. A base layer is read to its end, so that its
// digest is verified.
func PackageYAML(ctx context.Context, img v1.Image) ([]byte, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading its manifest: %w", err)
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, fmt.Errorf("finding its layers: %w", err)
	}
	s := &search{left: maxRead}
	if i := slices.IndexFunc(m.Layers, func(d v1.Descriptor) bool { return d.Annotations[Annotation] == BaseMark }); i >= 0 {
		layers, s.base = layers[i:i+1], true
	} else {
		s.seen = map[string]bool{}
	}
	for _, l := range slices.Backward(layers) {
		data, err := s.layer(ctx, l)
		if errors.Is(err, oci.ErrTooLarge) {
			err = fmt.Errorf("its layers are larger than %d GiB", maxRead>>30)
		}
		if err != nil {
			return nil, err
		}
		if data != nil {
			return data, nil
		}
	}
	return nil, ErrNoPackage
}

// A search looks for package.yaml in layers, from the top.
type search struct {
	// base says that the one layer is a base layer.
	base bool
	left int64
	// files and names are how many entries there were, and bytes of names.
	files, names int
	// seen are the names of entries, and whether they hide what lower layers
	// have below that name. It is nil in a base layer.
	seen map[string]bool
}

// layer returns the package.yaml of a layer, or nil.
func (s *search) layer(ctx context.Context, l v1.Layer) (data []byte, err error) {
	rc, err := oci.Plain(ctx, l, &s.left)
	if err != nil {
		return nil, fmt.Errorf("reading its layers: %w", err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	tr := tar.NewReader(rc)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err == nil && h.Size > s.left {
			err = oci.ErrTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("reading its layers: %w", err)
		}
		found, err := s.see(h)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		data, err := readMetadata(h, tr)
		if err == nil && s.base {
			err = drain(rc)
		}
		return data, err
	}
}

// see takes note of an entry, and returns true if it is package.yaml. Hidden
// are files that upper layers have, too, or that lie below a name which they
// deleted, or made a file (OCI image spec, "Whiteouts").
func (s *search) see(h *tar.Header) (found bool, err error) {
	s.files++
	s.names += len(h.Name)
	if s.files > maxFiles || len(h.Name) > maxName || s.names > maxNames {
		return false, errors.New("its layers have more files, or longer names, than an image should have")
	}
	found = path.Base(h.Name) == metadataFile && h.Typeflag == tar.TypeReg
	if s.seen == nil {
		return found, nil
	}
	name := path.Clean(h.Name)
	base, deleted := strings.CutPrefix(path.Base(name), ".wh.")
	name = path.Join(path.Dir(name), base)
	if _, again := s.seen[name]; again || found && s.hidden(name) {
		return false, nil
	}
	s.seen[name] = deleted || h.Typeflag != tar.TypeDir
	return found, nil
}

// hidden reports whether a directory that name lies in is none.
func (s *search) hidden(name string) bool {
	for {
		at := strings.LastIndexByte(name, '/')
		if at < 0 {
			return s.seen["."]
		}
		if name = name[:at]; s.seen[name] {
			return true
		}
	}
}

func readMetadata(h *tar.Header, r io.Reader) ([]byte, error) {
	if h.Size > maxYAML {
		return nil, fmt.Errorf("its %s is larger than %d MiB", metadataFile, maxYAML>>20)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading its %s: %w", metadataFile, err)
	}
	return data, nil
}

// drain reads a base layer to its end, where its digest is checked.
func drain(r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxYAML))
	if err != nil {
		return fmt.Errorf("reading its base layer: %w", err)
	}
	if n == maxYAML {
		return fmt.Errorf("its base layer is larger than %d MiB", maxYAML>>20)
	}
	return nil
}

// Examples returns the examples of a package's image, a stream of YAML documents
// of up to 200 MiB. It is an error if there are none.
func Examples(ctx context.Context, img v1.Image) ([]byte, error) {
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Descriptors, func(d v1.Descriptor) bool { return d.Annotations[Annotation] == ExamplesMark })
	if i < 0 {
		return nil, errors.New("it has no examples")
	}
	data, err := readEntry(ctx, p.Layers[i], examplesFile)
	if err != nil {
		return nil, fmt.Errorf("reading its examples: %w", err)
	}
	return data, nil
}

// readEntry returns a file of a layer of up to 200 MiB. The layer is read to its
// end, where its digest is verified.
func readEntry(ctx context.Context, l v1.Layer, name string) (data []byte, err error) {
	left := int64(maxYAML)
	rc, err := oci.Plain(ctx, l, &left)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("its layer has no %s", name)
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimPrefix(h.Name, "./") != name || h.Typeflag != tar.TypeReg {
			continue
		}
		if data, err = io.ReadAll(tr); err != nil {
			return nil, err
		}
		return data, rc.Finish()
	}
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
	return Object{}, fmt.Errorf("its %s has no object of %s", metadataFile, metaGroup)
}

// DefaultFileName returns the default name of a package's file: the first 50 bytes
// of the package's name and the first 12 digits of the artifact's digest, as a
// label, and ".xpkg". The crossplane CLI takes the digest of the image without
// annotations instead, which no registry shows.
func DefaultFileName(pkg *Package, a Artifact) (string, error) {
	digest, err := a.Digest()
	if err != nil {
		return "", fmt.Errorf("finding the package's digest: %w", err)
	}
	name := pkg.Meta.Name
	name = name[:min(len(name), 50)]
	return Label(name+"-"+digest.Hex[:12]) + ".xpkg", nil
}

// Label keeps the letters and digits of s; ".", "/", ":" and "-" become "-"
// within a label's 63 bytes and are trimmed from its ends.
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
