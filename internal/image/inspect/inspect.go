package inspect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Description describes a package or a plain image. Its JSON is the output of
// `xfn xpkg inspect --format json`: fields may be added, but not renamed.
type Description struct {
	// Digest and MediaType are the digest and media type of the index, or of the image if
	// there is no index.
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	// Size is the number of bytes that the package uses in a registry: its manifests, configs
	// and layers, each once.
	Size int64 `json:"size"`
	// Annotations are the annotations of the index. The annotations of images are in Images.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Package is the content of the package.yaml that the control plane reads, or nil for a
	// plain image.
	Package *Package `json:"package,omitempty"`
	// Images are the images of all platforms, in the order of the index.
	Images []Image `json:"images"`
	// Notes are messages about problems and unusual properties of the package, one sentence
	// each.
	Notes []string `json:"notes,omitempty"`
}

// An Image is the image of one platform.
type Image struct {
	// Platform is OS/ARCHITECTURE[/VARIANT], or empty if the config names none.
	Platform  string `json:"platform,omitempty"`
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	// Size is the size of the manifest, config and layers together, in bytes.
	Size int64 `json:"size"`
	// Created is the creation time in RFC 3339 format. It is empty if the config names none.
	Created string `json:"created,omitempty"`
	// Annotations are the annotations of the manifest. Labels are the labels of the config.
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// Entrypoint, Cmd and User say how a container of the image is started.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	User       string   `json:"user,omitempty"`
	// PackageDigest is the digest of package.yaml. It is empty if the image has no
	// package.yaml, or if its layers were not searched.
	PackageDigest string `json:"packageDigest,omitempty"`
	// Layers are in the order of the manifest: the lowest layer is the first.
	Layers []Layer `json:"layers"`
}

// A Layer is a stored layer of an image.
type Layer struct {
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	// Mark says what Crossplane's tools have added in the layer: "base" for package.yaml,
	// "upbound" for examples. It is "" for other layers. Mark is the layer's annotation
	// "io.crossplane.xpkg", or else the config's label for the layer.
	Mark        string            `json:"mark,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Options are options for Artifact. The zero value suits packages in registries.
type Options struct {
	// Search searches all layers for package.yaml if no layer is marked as "base", as the
	// control plane does. For a package in a registry, this fetches the whole image.
	Search bool
}

// controlPlane is the platform whose image the control plane reads from an index. It does
// not depend on the platform that the control plane runs on.
const controlPlane = "linux/amd64"

// Artifact describes a package or a plain image. It reads no layers except those marked
// "base", unless Options.Search is set.
func Artifact(ctx context.Context, a xpkg.Artifact, o Options) (Description, error) {
	images, err := xpkg.Images(a)
	if err != nil {
		return Description{}, err
	}
	if len(images) == 0 {
		return Description{}, errors.New("the artifact contains no image")
	}
	d, err := head(a)
	if err != nil {
		return Description{}, err
	}
	r := &reader{Options: o, seen: map[string]string{}}
	for _, i := range images {
		img, err := r.image(ctx, i)
		if err != nil {
			return Description{}, err
		}
		d.Images = append(d.Images, img)
	}
	d.Size += sizeOf(d.Images)
	if r.yaml != nil {
		if d.Package, err = parse(r.yaml); err != nil {
			return Description{}, err
		}
	}
	d.Notes = d.remarks()
	return d, nil
}

// head returns the description of a without its images. The size includes only the manifest
// of an index.
func head(a xpkg.Artifact) (d Description, err error) {
	desc, err := oci.Describe(a)
	if err != nil {
		return d, err
	}
	d.Digest, d.MediaType = desc.Digest.String(), string(desc.MediaType)
	idx, ok := a.(v1.ImageIndex)
	if !ok {
		return d, nil
	}
	m, err := idx.IndexManifest()
	if err != nil {
		return d, fmt.Errorf("reading the index: %w", err)
	}
	d.Annotations, d.Size = m.Annotations, desc.Size
	return d, nil
}

// sizeOf returns the total size of images. Shared layers count once.
func sizeOf(images []Image) int64 {
	var sum int64
	seen := map[string]bool{}
	for _, img := range images {
		sum += img.Size
		for _, l := range img.Layers {
			if seen[l.Digest] {
				sum -= l.Size
			}
			seen[l.Digest] = true
		}
	}
	return sum
}

// A reader describes images. It reads the package.yaml of shared layers only once.
type reader struct {
	Options
	// seen has the digest of package.yaml for the digest of the layer that contains it.
	seen map[string]string
	// yaml is the package.yaml that the control plane reads: from the image for the platform
	// controlPlane, or else from the first image that has one. sum is the digest of yaml.
	yaml []byte
	sum  string
}

func (r *reader) image(ctx context.Context, from xpkg.PlatformImage) (Image, error) {
	img, err := describe(from)
	if err != nil {
		return img, err
	}
	base := slices.IndexFunc(img.Layers, func(l Layer) bool { return l.Mark == xpkg.BaseMark })
	if base < 0 && !r.Search {
		return img, nil
	}
	var layer string
	if base >= 0 {
		layer = img.Layers[base].Digest
	}
	sum, known := r.seen[layer]
	ours := img.Platform == controlPlane
	if !known || layer == "" || ours && sum != r.sum {
		data, err := packageYAML(ctx, from.Image, img.Layers)
		if errors.Is(err, xpkg.ErrNoPackage) && base < 0 {
			return img, nil
		}
		if err != nil {
			return img, err
		}
		sum = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		r.seen[layer] = sum
		if r.yaml == nil || ours {
			r.yaml, r.sum = data, sum
		}
	}
	img.PackageDigest = sum
	return img, nil
}

// packageYAML reads package.yaml from the layer that is marked "base". If no layer is
// marked, it searches all layers.
func packageYAML(ctx context.Context, img v1.Image, layers []Layer) ([]byte, error) {
	if labelled(layers) {
		var err error
		if img, err = xpkg.AnnotateLayers(img); err != nil {
			return nil, err
		}
	}
	return xpkg.PackageYAML(ctx, img)
}

// labelled reports whether the base layer is marked by a label of the config and not by an
// annotation.
func labelled(layers []Layer) bool {
	annotated := func(l Layer) bool { return l.Annotations[xpkg.Annotation] == xpkg.BaseMark }
	marked := func(l Layer) bool { return l.Mark == xpkg.BaseMark }
	return slices.ContainsFunc(layers, marked) && !slices.ContainsFunc(layers, annotated)
}

func describe(from xpkg.PlatformImage) (Image, error) {
	m, err := from.Image.Manifest()
	if err != nil {
		return Image{}, fmt.Errorf("reading the image's manifest: %w", err)
	}
	c, err := from.Image.ConfigFile()
	if err != nil {
		return Image{}, fmt.Errorf("reading the image's config: %w", err)
	}
	own, err := oci.Describe(from.Image)
	if err != nil {
		return Image{}, err
	}
	img := Image{
		Digest: own.Digest.String(), MediaType: string(own.MediaType), Size: own.Size + m.Config.Size,
		Annotations: m.Annotations, Labels: c.Config.Labels,
		Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd, User: c.Config.User,
	}
	if from.Platform != nil {
		img.Platform = from.Platform.String()
	}
	if !c.Created.IsZero() {
		img.Created = c.Created.UTC().Format(time.RFC3339)
	}
	for _, desc := range m.Layers {
		l := Layer{Digest: desc.Digest.String(), MediaType: string(desc.MediaType), Size: desc.Size, Annotations: desc.Annotations}
		if l.Mark = l.Annotations[xpkg.Annotation]; l.Mark == "" {
			l.Mark = c.Config.Labels[xpkg.Annotation+":"+l.Digest]
		}
		img.Layers = append(img.Layers, l)
		img.Size += l.Size
	}
	return img, nil
}

func (d Description) remarks() []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	sums := map[string]bool{}
	platforms := make([]string, 0, len(d.Images))
	for _, img := range d.Images {
		sums[img.PackageDigest] = true
		platforms = append(platforms, img.Platform)
		n := 0
		for _, l := range img.Layers {
			if l.Mark == xpkg.BaseMark {
				n++
			}
		}
		if n > 1 {
			add("%s has %d base layers: the control plane reads the first, and crossplane xpkg extract refuses it", img.name(), n)
		}
		if labelled(img.Layers) {
			add("no layer of %s is annotated as the base layer, only the labels of its config mark one: the control plane searches the whole image", img.name())
		}
	}
	if d.Package != nil && len(sums) > 1 {
		add("the images contain different package.yaml files: the control plane reads the package.yaml of %s", controlPlane)
	}
	if len(platforms) > 1 && d.Package != nil && !slices.Contains(platforms, controlPlane) {
		add("the index has no image for %s, which the control plane reads: its platforms are %s", controlPlane, strings.Join(platforms, ", "))
	}
	return notes
}

// name returns how a sentence refers to the image, such as "the image for linux/amd64".
func (i Image) name() string {
	if i.Platform == "" {
		return "the image"
	}
	return "the image for " + i.Platform
}
