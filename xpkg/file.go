package xpkg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
)

// An Artifact is a package as registries store it: a v1.Image, or a v1.ImageIndex of
// one image per platform.
type Artifact interface {
	partial.Describable
	partial.WithRawManifest
}

// A File is an open .xpkg file.
type File struct {
	// Artifact is the package. Its layers are read from the file on demand, and verified.
	Artifact Artifact
	// Unproven is true if the diff IDs of the layers, which a Docker
	// archive states, were not verified.
	Unproven bool

	file *archive.File
}

// Close closes the file. The artifact's layers cannot be read after it.
func (f *File) Close() error { return f.file.Close() }

// Open opens an .xpkg file that WriteFile or the crossplane CLI wrote. It restores the
// annotations of layers from the labels of the image config, because files of the CLI
// lack them. Layers without compression, as docker save writes them, are compressed as the
// CLI does, because the labels have the digests of such layers. A file without a package is
// an error. Errors name the file.
func Open(ctx context.Context, path string) (*File, error) {
	f, err := OpenImage(ctx, path)
	if err != nil {
		return nil, err
	}
	if err = f.compress(ctx); err == nil {
		err = Check(ctx, f.Artifact)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
	}
	return f, nil
}

// OpenImage is Open for a file that may also contain an image, or an index of images,
// that is not a package.
func OpenImage(ctx context.Context, path string) (*File, error) {
	f, err := archive.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	a := f.Artifact
	if img, ok := a.(v1.Image); ok && f.Docker {
		if a, err = AnnotateLayers(img); err != nil {
			return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
		}
	}
	return &File{Artifact: a, Unproven: f.Docker, file: f}, nil
}

// compress compresses the layers of an image, if its config has labels of layers.
func (f *File) compress(ctx context.Context) error {
	img, ok := f.Artifact.(v1.Image)
	if !ok {
		return nil
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading the image config: %w", err)
	}
	m, err := img.Manifest()
	if err != nil {
		return fmt.Errorf("reading the image's manifest: %w", err)
	}
	p, err := oci.PartsOf(img)
	if err != nil {
		return err
	}
	isPlain := func(d v1.Descriptor) bool { return d.MediaType == types.OCIUncompressedLayer }
	isMark := func(label string) bool { return strings.HasPrefix(label, Annotation+":") }
	if !slices.ContainsFunc(p.Descriptors, isPlain) || !slices.ContainsFunc(slices.Collect(maps.Keys(config.Config.Labels)), isMark) {
		return nil
	}
	layers, descs := slices.Clone(p.Layers), slices.Clone(p.Descriptors)
	for i, d := range p.Descriptors {
		if !isPlain(d) {
			continue
		}
		if layers[i], err = oci.Gzipped(ctx, layers[i]); err != nil {
			return err
		}
		if descs[i], err = oci.Describe(layers[i]); err != nil {
			return err
		}
		descs[i].Annotations = d.Annotations
	}
	if img, err = oci.Assemble(p.Config, descs, layers...); err == nil {
		img, err = AnnotateLayers(img)
	}
	if err == nil {
		f.Artifact, err = oci.Annotate(img, m.Annotations)
	}
	return err
}

// Check returns an error unless each image of a contains a package.yaml.
func Check(ctx context.Context, a Artifact) error {
	images, err := Images(a)
	if err == nil && len(images) == 0 {
		err = errors.New("the package contains no image")
	}
	for _, i := range images {
		if err == nil {
			_, err = PackageYAML(ctx, i.Image)
		}
	}
	return err
}

// AnnotateLayers returns img with the annotations of layers that the labels of its
// config state. The config stays the same.
func AnnotateLayers(img v1.Image) (v1.Image, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image config: %w", err)
	}
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	descs := slices.Clone(p.Descriptors)
	for i, d := range descs {
		if mark, ok := config.Config.Labels[Annotation+":"+d.Digest.String()]; ok {
			descs[i].Annotations = map[string]string{Annotation: mark}
		}
	}
	return oci.Assemble(p.Config, descs, p.Layers...)
}

// WriteFile writes a as an .xpkg file: one tar that is an OCI image layout and a Docker
// archive. The same artifact gives the same bytes. The file is complete or absent, and
// has mode 0644; WriteFile also writes to a device or pipe. WriteFile can replace the
// file from which a was opened, but not on Windows.
//
// report gets the written bytes of blobs and their total. It may be nil.
func WriteFile(ctx context.Context, path string, a Artifact, report func(text string, done, total int64)) error {
	return WriteFiles(ctx, []Target{{path, a}}, report)
}

// WriteFiles writes .xpkg files as WriteFile does. It renames the first file only when
// all files are written, so that an error, such as a full disk, leaves no file.
func WriteFiles(ctx context.Context, targets []Target, report func(text string, done, total int64)) error {
	files := make([]archive.Target, len(targets))
	for i, t := range targets {
		files[i] = archive.Target{Path: t.Path, Artifact: t.Artifact}
	}
	return archive.WriteFiles(ctx, progress.FromPlain(report), files...)
}

// A Target is the path of a file and the artifact to write to it.
type Target struct {
	Path     string
	Artifact Artifact
}

// Split returns a file for each image of a. Its path is the result of path with
// the platform before the extension, as in "hello-linux-arm-v7.xpkg". Join of
// these files returns a again.
func Split(a Artifact, path func(Artifact) (string, error)) ([]Target, error) {
	images, err := Images(a)
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, i := range images {
		if i.Platform == nil {
			return nil, errors.New("naming a file by its platform: the image has no platform")
		}
		p, err := path(i.Image)
		if err != nil {
			return nil, err
		}
		ext := filepath.Ext(p)
		p = strings.TrimSuffix(p, ext) + "-" + suffix(i) + ext
		if slices.ContainsFunc(targets, func(t Target) bool { return t.Path == p }) {
			return nil, fmt.Errorf("two images would be the file %q", p)
		}
		targets = append(targets, Target{p, i.Image})
	}
	return targets, nil
}

// suffix returns an image's platform as a part of a file name. It replaces unsafe
// characters, such as "/", because the image config may contain any text.
func suffix(i PlatformImage) string {
	parts := append([]string{i.Platform.OS, i.Platform.Architecture, i.Platform.Variant, i.Platform.OSVersion}, i.Platform.OSFeatures...)
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}
