package xpkg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

// A PlatformImage is a package's image for a platform.
type PlatformImage struct {
	// Platform is the platform in the config. It is nil if the config has no os or no
	// architecture, as in packages without a runtime from other tools.
	Platform *v1.Platform
	Image    v1.Image
}

// Images returns the images of a: a itself, or the images of the index and of indexes in
// it, in their order, without attestations and artifacts that are not images.
func Images(a Artifact) ([]PlatformImage, error) { return imagesOf(a, 0) }

func imagesOf(a oci.Artifact, depth int) ([]PlatformImage, error) {
	if depth > oci.MaxDepth {
		return nil, fmt.Errorf("indexes are nested more than %d deep", oci.MaxDepth)
	}
	idx, ok := a.(v1.ImageIndex)
	if !ok {
		img, ok := a.(v1.Image)
		if !ok {
			return nil, errors.New("the artifact is neither an image nor an index")
		}
		p, err := platformOf(img)
		return []PlatformImage{{p, img}}, err
	}
	m, err := idx.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	var all []PlatformImage
	for _, desc := range m.Manifests {
		if oci.IsAttestation(desc) {
			continue
		}
		child, err := oci.Child(idx, desc)
		if err != nil {
			return nil, err
		}
		if img, ok := child.(v1.Image); ok {
			m, err := img.Manifest()
			if err != nil {
				return nil, fmt.Errorf("reading a manifest: %w", err)
			}
			if !oci.IsImage(m) {
				continue
			}
		}
		images, err := imagesOf(child, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, images...)
	}
	return all, nil
}

func platformOf(img v1.Image) (*v1.Platform, error) {
	c, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading a config: %w", err)
	}
	if c.OS == "" || c.Architecture == "" {
		return nil, nil
	}
	p := oci.PlatformOf(c)
	return &p, nil
}

// samePlatform finds two images for one platform. Each image must have a platform.
func samePlatform(images []PlatformImage) (a, b int, found bool) {
	seen := map[string]int{}
	for i, img := range images {
		p := *img.Platform
		if p.Architecture == "arm64" && p.Variant == "v8" {
			p.Variant = "" // arm64 has only the variant v8, which many tools leave out.
		}
		key := p.String() + " " + strings.Join(p.OSFeatures, " ")
		if first, ok := seen[key]; ok {
			return first, i, true
		}
		seen[key] = i
	}
	return 0, 0, false
}

// indexOf returns an OCI index of images with platforms, with their common annotations.
func indexOf(images []PlatformImage) (v1.ImageIndex, error) {
	shared, err := sharedAnnotations(images)
	if err != nil {
		return nil, err
	}
	var manifests []v1.Descriptor
	var children []oci.Artifact
	for _, i := range images {
		desc, err := oci.Describe(i.Image)
		if err != nil {
			return nil, err
		}
		desc.Platform = i.Platform
		manifests, children = append(manifests, desc), append(children, i.Image)
	}
	idx, err := oci.Index(oci.EncodeIndex(shared, manifests...), children...)
	if err != nil {
		return nil, err
	}
	return idx, checkManifest(idx)
}

// Index returns an OCI index of images for several platforms, which need not be packages. It
// returns a single image unchanged.
func Index(all ...v1.Image) (Artifact, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	var images []PlatformImage
	for _, img := range all {
		found, err := Images(img)
		if err != nil {
			return nil, err
		}
		images = append(images, found...)
	}
	if a, _, ok := samePlatform(images); ok {
		return nil, fmt.Errorf("two images are for %s, and an index has one image per platform", images[a].Platform)
	}
	return indexOf(images)
}

// repeated returns the error about the images of two files for one platform, of packages of a kind.
func repeated(kind string, a, b PlatformImage, first, second string) error {
	one, err := a.Image.Digest()
	two, err2 := b.Image.Digest()
	switch {
	case err == nil && err2 == nil && one == two:
		return hint.Wrap(fmt.Errorf("%q and %q have the same image", first, second), "leave one out")
	case !NeedsRuntime(kind):
		return hint.Wrap(fmt.Errorf("%q and %q are both a %s, which has no runtime image and needs only one file", first, second, kind), "leave one out")
	default:
		err := fmt.Errorf("%q and %q are both for %s, and an index has one image per platform", first, second, a.Platform)
		return hint.Wrap(err, "name one file for each platform")
	}
}

// Join returns one index of the images of several files, in their order, as Build
// returns it. For one file, Join returns its artifact. The images must be packages
// of the same kind and name, each for another platform.
func Join(ctx context.Context, files []Target) (Artifact, error) {
	if len(files) == 1 {
		return files[0].Artifact, nil
	}
	var images []PlatformImage
	var paths []string // paths of the files, one for each image
	var first string   // kind and name of the first package
	for _, f := range files {
		found, err := Images(f.Artifact)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", f.Path, err)
		}
		for _, i := range found {
			if i.Platform == nil {
				return nil, fmt.Errorf("joining %q with other files: its image has no platform, so clients could not pull it from an index", f.Path)
			}
			meta, err := Metadata(ctx, i.Image)
			if err != nil {
				return nil, fmt.Errorf("reading %q: %w", f.Path, err)
			}
			pkg := meta.Kind + " named " + meta.Name
			if len(images) == 0 {
				first = pkg
			}
			images, paths = append(images, i), append(paths, f.Path)
			if pkg != first {
				return nil, fmt.Errorf("%q is a %s and %q is a %s, but all images of an index must be of one package", paths[0], first, f.Path, pkg)
			}
		}
	}
	if a, b, ok := samePlatform(images); ok {
		kind, _, _ := strings.Cut(first, " ")
		return nil, repeated(kind, images[a], images[b], paths[a], paths[b])
	}
	if len(images) == 0 {
		return nil, errors.New("there is no image to join")
	}
	return indexOf(images)
}
