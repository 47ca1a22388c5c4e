package language

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A Material is a dependency in an image, or its base image.
type Material struct {
	Name, Version string
	// PURL is the package URL: "pkg:golang/example.org/x@v1.0.0". It is empty for a base image
	// that is not from a registry.
	PURL string
	// Digest is the digest of the fetched file in the form of the language's lock file, or
	// "" if it is not known.
	Digest string
}

// NewResult returns the result of a build. It adds the base images of src to the materials,
// and sorts them. On an error, it closes images.
func NewResult(src Source, images *runtimeimage.Images, materials []Material) (*Result, error) {
	bases, err := src.bases()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the base image: %w", err), images.Close())
	}
	materials = append(materials, bases...)
	slices.SortFunc(materials, func(a, b Material) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.PURL, b.PURL), cmp.Compare(a.Digest, b.Digest))
	})
	return &Result{Images: images, Materials: materials}, nil
}

// ImagePURL returns the package URL of an image in a registry: the type oci of PURL-TYPES. The
// architecture is empty for an index.
func ImagePURL(repository string, digest v1.Hash, architecture string) string {
	arch := ""
	if architecture != "" {
		arch = "arch=" + architecture + "&"
	}
	return fmt.Sprintf("pkg:oci/%s@%s%%3A%s?%srepository_url=%s", path.Base(repository), digest.Algorithm, digest.Hex, arch, repository)
}

// bases returns a material for the base image of each platform. The minimal image of
// runtimeimage is not a material.
func (s Source) bases() (all []Material, err error) {
	if s.Base == nil {
		return nil, nil
	}
	for _, p := range s.Platforms {
		img, err := s.Base.Of(p)
		if err != nil {
			return nil, err
		}
		digest, err := img.Digest()
		if err != nil {
			return nil, err
		}
		m := Material{Name: "base image", Digest: digest.String()}
		if ref := s.Base.Reference; ref != nil {
			m.Name = ref.Context().Name()
			m.PURL = ImagePURL(m.Name, digest, p.Architecture)
			if tag, ok := ref.(name.Tag); ok {
				m.Version = tag.TagStr()
				m.PURL += "&tag=" + m.Version
			}
		}
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all, nil
}
