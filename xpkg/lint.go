package xpkg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/progress"
)

// A Report is the result of Lint.
type Report struct {
	// Meta is the package metadata, if there is any.
	Meta Object
	// Objects and Examples are the numbers of other objects and of examples.
	Objects, Examples int
	// Platforms are the platforms of the images, "" for an image without one.
	Platforms []string
	// Layers is the number of layers whose digest was verified.
	Layers int
	// Runtime says whether the package has a runtime image.
	Runtime bool
	// Problems are all problems.
	Problems Problems
}

// Lint checks a built package. It reads every layer of every image and verifies its
// digest and diff ID, up to 64 GiB uncompressed. It reads the package.yaml of each
// image as the control plane does, and applies the rules of Read and the other
// rules to it. The path of problems is "package.yaml", or ".up/examples.yaml" for
// examples. Lint returns an error only if the artifact cannot be read.
//
// Lint calls report with the bytes of layers that it has read and their total. It
// may be nil.
func Lint(ctx context.Context, a Artifact, report func(text string, done, total int64), others ...Rule) (Report, error) {
	images, err := Images(a)
	if err != nil {
		return Report{}, err
	}
	l := &linter{left: maxLint, report: progress.FromPlain(report), others: others, layers: map[v1.Hash]plainLayer{}}
	if err := l.plan(images); err != nil {
		return Report{}, err
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
			l.refused("package-yaml", "%s has another %s than %s, and a package is one", describe(img), metadataFile, describe(of))
		}
	}
	if len(images) == 0 {
		l.refused("platform", "it contains no image")
	}
	l.runtimes(l.Meta.Kind, l.running)
	if idx, ok := a.(v1.ImageIndex); ok {
		err = l.index(idx, images)
	}
	l.Layers, l.Runtime = len(l.layers), len(l.running) > 0
	return l.Report, err
}

// maxLint is how many bytes of layers Lint reads, not compressed.
const maxLint = 64 << 30

// NeedsRuntime reports whether the control plane starts a program from packages of a
// kind, so that they need a runtime image.
func NeedsRuntime(kind string) bool { return kind == function || kind == provider }

// CheckRuntimes returns the problems of the runtime images for a package of a kind:
// a runtime image for a Configuration, no image for Linux, and among several images
// none for linux/amd64.
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
	linux := func(i PlatformImage) bool { return i.Platform != nil && i.Platform.OS == "linux" }
	switch {
	case len(images) == 0:
	case kind == configuration:
		l.problem("runtime", "it is a Configuration with a runtime image, which nothing would run")
	case !slices.ContainsFunc(images, linux):
		l.problem("runtime", "it has no runtime image for linux, on which clusters run functions and providers")
	}
}

// lacksAMD64 finds an index from which the control plane cannot read the
// package: it asks for linux/amd64, on whatever machine.
func (l *linter) lacksAMD64(images []PlatformImage) {
	amd64 := func(i PlatformImage) bool {
		return i.Platform != nil && i.Platform.OS == "linux" && i.Platform.Architecture == "amd64"
	}
	if len(images) > 0 && !slices.ContainsFunc(images, amd64) {
		l.refused("platform", "none of its images is for linux/amd64, and that is the one from which the control plane reads a package")
	}
}

// index finds platforms that an index has twice, lacks or tells wrong.
func (l *linter) index(idx v1.ImageIndex, images []PlatformImage) error {
	l.lacksAMD64(images)
	if i := slices.IndexFunc(images, func(i PlatformImage) bool { return i.Platform == nil }); i >= 0 {
		l.problem("platform", "%s stands in an index and has no os and architecture, so clients cannot pull it", describe(images[i]))
	} else if a, _, ok := samePlatform(images); ok {
		l.problem("platform", "its index has two images for %s, and only the first would be pulled", images[a].Platform)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading an index: %w", err)
	}
	said := map[v1.Hash]*v1.Platform{}
	for _, desc := range m.Manifests {
		said[desc.Digest] = desc.Platform
	}
	for _, img := range images {
		digest, err := img.Image.Digest()
		if err != nil {
			return fmt.Errorf("finding the digest of an image: %w", err)
		}
		if p, ok := said[digest]; ok && img.Platform != nil && !agree(p, img.Platform) {
			l.problem("platform", "the index says that the image %s is for %s, and its config that it is for %s", digest, platformName(p), img.Platform)
		}
	}
	return nil
}

// agree reports whether what an index says of an image is what its config says.
// An index may leave out the variant.
func agree(index, config *v1.Platform) bool {
	return index != nil && index.OS == config.OS && index.Architecture == config.Architecture &&
		(index.Variant == "" || index.Variant == cmp.Or(config.Variant, index.Variant)) &&
		(index.OSVersion == "" || index.OSVersion == config.OSVersion)
}

// hasRuntime reports whether an image has layers besides those of the package.
// Where no layer is marked, it cannot be known.
func hasRuntime(img v1.Image) (bool, error) {
	m, err := img.Manifest()
	if err != nil {
		return false, fmt.Errorf("reading a manifest: %w", err)
	}
	marked := 0
	for _, d := range m.Layers {
		if d.Annotations[Annotation] != "" {
			marked++
		}
	}
	return marked > 0 && marked < len(m.Layers), nil
}

func platformName(p *v1.Platform) string {
	if p == nil {
		return ""
	}
	return p.String()
}

// describe names an image in problems.
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
	judged, err := lint(ctx, c, l.others)
	l.Problems = slices.Concat(l.Problems, found, judged)
	return err
}

// isUnread tells an error of reaching what is to be read from one of its
// content.
func isUnread(ctx context.Context, err error) bool {
	var temporary interface{ Temporary() bool } // Errors of systems and servers have it.
	return ctx.Err() != nil || errors.As(err, &temporary)
}
