package xpkg

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A Report is the result of Lint.
type Report struct {
	// Meta is the package metadata, or the zero value.
	Meta Object
	// Objects is the number of objects except the metadata, and Examples the number of
	// examples.
	Objects, Examples int
	// Platforms are the platforms of the images, "" for an image without a platform.
	Platforms []string
	// Layers is the number of layers whose digest was verified.
	Layers int
	// Runtime is true if the package has a runtime image.
	Runtime  bool
	Problems Problems
}

// Lint checks a built package. It reads all layers, up to 64 GiB uncompressed, and
// verifies their digests and diff IDs. It applies the rules of Read, and the rules in
// others, to package.yaml and .up/examples.yaml of each image. Problems in these two
// files have the name of the file as their Path. Lint returns an error only if the
// artifact cannot be read.
//
// report gets the bytes of layers that Lint has read and their total. It may be nil.
func Lint(ctx context.Context, a Artifact, report func(text string, done, total int64), others ...Rule) (Report, error) {
	images, err := Images(a)
	if err != nil {
		return Report{}, err
	}
	l := &linter{left: maxLint, others: others, layers: map[v1.Hash]plainLayer{}}
	l.progress = progress.Counter{Text: "checking the layers", Report: progress.FromPlain(report)}
	sizes := map[v1.Hash]int64{}
	for _, img := range images {
		m, err := img.Image.Manifest()
		if err != nil {
			return Report{}, fmt.Errorf("reading a manifest: %w", err)
		}
		for _, d := range m.Layers {
			sizes[d.Digest] = d.Size
		}
	}
	for _, size := range sizes {
		l.progress.Total += size
	}
	var first []byte
	var of PlatformImage
	for _, img := range images {
		l.Platforms = append(l.Platforms, platformName(img.Platform))
		data, err := l.image(ctx, img)
		if err != nil {
			return Report{}, err
		}
		switch {
		case data == nil:
		case first == nil:
			first, of = data, img
			if err := l.content(ctx, img, data); err != nil {
				return Report{}, err
			}
		case !bytes.Equal(first, data):
			l.refused("package-yaml", "%s has another %s than %s, but all images of a package must have the same", describe(img), metadataFile, describe(of))
		}
	}
	if len(images) == 0 {
		l.refused("platform", "the package contains no image")
	}
	if len(sizes) > 0 {
		l.progress.Finish()
	}
	l.runtimes(l.Meta.Kind, l.running)
	if idx, ok := a.(v1.ImageIndex); ok {
		err = l.index(idx, images)
	}
	l.Layers, l.Runtime = len(l.layers), len(l.running) > 0
	return l.Report, err
}

// maxLint limits the uncompressed bytes of layers that Lint reads.
const maxLint = 64 << 30

// NeedsRuntime reports whether packages of a kind need a runtime image.
func NeedsRuntime(kind string) bool { return kind == function || kind == provider }

// CheckRuntimes returns the problems of a package's runtime images: an image in a
// Configuration, no image for Linux, or several images without an image for
// linux/amd64.
func CheckRuntimes(kind string, runtimes []v1.Image) (Problems, error) {
	var l linter
	images := make([]PlatformImage, len(runtimes))
	for i, img := range runtimes {
		p, err := platformOf(img)
		if err != nil {
			return nil, err
		}
		images[i] = PlatformImage{p, img}
	}
	l.runtimes(kind, images)
	if len(images) > 1 {
		l.lacksAMD64(images)
	}
	return l.Problems, nil
}

func (l *linter) runtimes(kind string, images []PlatformImage) {
	switch {
	case len(images) == 0:
	case kind == configuration:
		l.problem("runtime", "the package is a Configuration with a runtime image, which nothing would run")
	case !slices.ContainsFunc(images, isLinux):
		l.problem("runtime", "the package has no runtime image for linux, on which clusters run functions and providers")
	}
}

func isLinux(i PlatformImage) bool { return i.Platform != nil && i.Platform.OS == "linux" }

// lacksAMD64 reports that no image is for linux/amd64, from which every control plane
// reads the package.
func (l *linter) lacksAMD64(images []PlatformImage) {
	amd64 := func(i PlatformImage) bool { return isLinux(i) && i.Platform.Architecture == "amd64" }
	if len(images) > 0 && !slices.ContainsFunc(images, amd64) {
		l.refused("platform", "none of the package's images is for linux/amd64, the platform from which the control plane reads a package")
	}
}

// index reports images in an index that have no platform or share one, and
// platforms in the index that differ from the image's config.
func (l *linter) index(idx v1.ImageIndex, images []PlatformImage) error {
	l.lacksAMD64(images)
	if i := slices.IndexFunc(images, func(i PlatformImage) bool { return i.Platform == nil }); i >= 0 {
		l.problem("platform", "%s is in an index but has no os and architecture, so clients cannot pull it", describe(images[i]))
	} else if a, _, ok := samePlatform(images); ok {
		l.problem("platform", "the index has two images for %s, and only the first would be pulled", images[a].Platform)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading an index: %w", err)
	}
	stated := map[v1.Hash]*v1.Platform{}
	for _, desc := range m.Manifests {
		stated[desc.Digest] = desc.Platform
	}
	for _, img := range images {
		digest, err := img.Image.Digest()
		if err != nil {
			return fmt.Errorf("finding the digest of an image: %w", err)
		}
		if p, ok := stated[digest]; ok && img.Platform != nil && !agree(p, img.Platform) {
			l.problem("platform", "the index says that the image %s is for %s, but its config says %s", digest, platformName(p), img.Platform)
		}
	}
	return nil
}

// agree reports whether the platforms in an index and in an image's config
// match. The index may leave out the variant and the OS version.
func agree(index, config *v1.Platform) bool {
	return index != nil && index.OS == config.OS && index.Architecture == config.Architecture &&
		(index.Variant == "" || config.Variant == "" || index.Variant == config.Variant) &&
		(index.OSVersion == "" || index.OSVersion == config.OSVersion)
}

// hasRuntime reports whether an image has a runtime: layers without the package's
// Annotation, in addition to layers with it.
func hasRuntime(layers []v1.Descriptor) bool {
	marked := 0
	for _, d := range layers {
		if d.Annotations[Annotation] != "" {
			marked++
		}
	}
	return marked > 0 && marked < len(layers)
}

func platformName(p *v1.Platform) string {
	if p == nil {
		return ""
	}
	return p.String()
}

func describe(img PlatformImage) string {
	if img.Platform == nil {
		return "an image without a platform"
	}
	return "the image for " + img.Platform.String()
}

// content lints a package.yaml, and the examples of its image.
func (l *linter) content(ctx context.Context, img PlatformImage, data []byte) error {
	read := decodeAll(metadataFile, data, decode)
	c, found := assemble("its "+metadataFile, read.objects, read.broken)
	found = append(read.found, found...)
	if text, err := Examples(ctx, img.Image); err == nil {
		read := decodeAll(examplesFile, text, decodeExample)
		c.examples, found = read.objects, append(found, read.found...)
	}
	l.Meta, l.Objects, l.Examples = c.meta.Object, len(c.objects), len(c.examples)
	judged, err := lint(ctx, c, l.others, nil)
	l.Problems = slices.Concat(l.Problems, found, judged)
	return err
}

// isUnread reports whether err means that content could not be read, rather than that
// the content is invalid.
func isUnread(ctx context.Context, err error) bool {
	var temporary interface{ Temporary() bool } // Errors of the network and the system have this method.
	return ctx.Err() != nil || errors.As(err, &temporary)
}

// A linter reads the images of a package and collects their problems.
type linter struct {
	Report

	left     int64           // uncompressed bytes that may still be read
	running  []PlatformImage // images with a runtime
	others   []Rule
	layers   map[v1.Hash]plainLayer
	progress progress.Counter // counts compressed bytes
}

type plainLayer struct {
	diffID string
	isTar  bool
	err    error
}

func (l *linter) problem(rule, text string, args ...any) {
	l.Problems = append(l.Problems, Problem{Rule: rule, Text: fmt.Sprintf(text, args...)})
}

func (l *linter) refused(rule, text string, args ...any) {
	l.Problems = append(l.Problems, Problem{Rule: rule, Refused: true, Text: fmt.Sprintf(text, args...)})
}

// image checks the layers of an image. It returns its package.yaml, or nil if
// that cannot be read.
func (l *linter) image(ctx context.Context, img PlatformImage) ([]byte, error) {
	p, err := oci.PartsOf(img.Image)
	if err != nil {
		return nil, err
	}
	config, err := img.Image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading a config: %w", err)
	}
	sound, err := l.diffIDs(ctx, img, p, config.RootFS.DiffIDs)
	if err != nil {
		return nil, err
	}
	l.marks(img, p.Descriptors, config.Config.Labels)
	if hasRuntime(p.Descriptors) {
		l.running = append(l.running, img)
	}
	if !sound {
		return nil, nil
	}
	data, err := PackageYAML(ctx, img.Image)
	if err == nil {
		return data, nil
	}
	if isUnread(ctx, err) {
		return nil, err
	}
	l.refused("package-yaml", "%s: %v", describe(img), err)
	return nil, nil
}

// diffIDs reads all layers of an image and compares their diff IDs with want.
// sound is false if a layer does not have its digest.
func (l *linter) diffIDs(ctx context.Context, img PlatformImage, p oci.Parts, want []v1.Hash) (sound bool, err error) {
	if len(want) != len(p.Layers) {
		l.problem("diff-id", "%s has %d layers, but its config says %d, so engines could not unpack it", describe(img), len(p.Layers), len(want))
	}
	sound = true
	for i, layer := range p.Layers {
		digest := p.Descriptors[i].Digest
		got, again := l.layers[digest]
		if !again {
			got = l.read(ctx, layer)
			l.layers[digest] = got
		}
		if got.err != nil {
			if isUnread(ctx, got.err) {
				return false, got.err
			}
			sound = false
			l.refused("digest", "%s: layer %d (%s): %v", describe(img), i+1, digest, got.err)
			continue
		}
		if !got.isTar {
			l.problem("layer", "%s: layer %d (%s) is not a tar, so engines could not unpack it", describe(img), i+1, digest)
		}
		if i < len(want) && got.diffID != want[i].String() {
			l.problem("diff-id", "%s: the digest of layer %d without compression is %s, but the config says %s, so engines could not unpack it", describe(img), i+1, got.diffID, want[i])
		}
	}
	return sound, nil
}

// read reads a layer to its end, where its digest is checked.
func (l *linter) read(ctx context.Context, layer v1.Layer) (got plainLayer) {
	rc, err := oci.Plain(ctx, oci.CountedLayer{Layer: layer, Counter: &l.progress}, &l.left)
	if err != nil {
		return plainLayer{err: err}
	}
	defer func() { got.err = errors.Join(got.err, rc.Close()) }()
	sum := sha256.New()
	tr := tar.NewReader(io.TeeReader(rc, sum))
	for err == nil {
		_, err = tr.Next()
	}
	// io.Copy below returns an error of reading again.
	got.isTar = errors.Is(err, io.EOF)
	if _, err := io.Copy(sum, rc); err != nil {
		return plainLayer{err: err}
	}
	got.diffID, got.err = fmt.Sprintf("sha256:%x", sum.Sum(nil)), rc.Finish()
	return got
}

// marks reports layers whose annotation differs from their label, and several base
// layers. The control plane reads the annotations, which some tools remove.
func (l *linter) marks(img PlatformImage, descs []v1.Descriptor, labels map[string]string) {
	var base []string
	for i, d := range descs {
		mark, label := d.Annotations[Annotation], labels[Annotation+":"+d.Digest.String()]
		if mark == BaseMark {
			base = append(base, fmt.Sprint(i+1))
		}
		if label != "" && mark != label {
			l.problem("layer-mark", "%s: layer %d (%s) has the label %q but the annotation %q: a tool that does not know packages may have copied it", describe(img), i+1, d.Digest, label, mark)
		}
	}
	if len(base) > 1 {
		l.problem("base-layer", "%s has %d base layers (%s): the control plane reads only the first", describe(img), len(base), strings.Join(base, ", "))
	}
}
