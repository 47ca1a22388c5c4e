package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A document has the fields of a manifest that the registry needs: OCI image
// spec, "Image Manifest" and "Image Index".
type document struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType"`
	Config       *v1.Descriptor    `json:"config"`
	Layers       []v1.Descriptor   `json:"layers"`
	Manifests    []v1.Descriptor   `json:"manifests"`
	Subject      *v1.Descriptor    `json:"subject"`
	Annotations  map[string]string `json:"annotations"`
}

// parse parses a manifest. Its media type must match contentType, with which it
// was sent.
func parse(content []byte, contentType string) (*document, error) {
	var d *document
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if d == nil {
		return nil, errors.New("the manifest is not a JSON object")
	}
	sent := ""
	if contentType != "" {
		var err error
		if sent, _, err = mime.ParseMediaType(contentType); err != nil {
			return nil, fmt.Errorf("the media type %q cannot be read", contentType)
		}
	}
	switch {
	case sent == "" && d.MediaType == "":
		return nil, errors.New("the manifest has no media type")
	case sent != "" && d.MediaType != "" && sent != d.MediaType:
		return nil, fmt.Errorf("the manifest was sent as %q, but its media type is %q", sent, d.MediaType)
	case d.MediaType == "":
		d.MediaType = sent
	}
	if types.MediaType(d.MediaType).IsImage() && d.Config == nil {
		return nil, errors.New("the manifest is of an image, but has no config")
	}
	if slices.ContainsFunc(d.all(), func(of v1.Descriptor) bool { return of.Digest == v1.Hash{} }) {
		return nil, errors.New("the manifest has a descriptor without a digest")
	}
	return d, nil
}

func (d *document) all() []v1.Descriptor {
	all := slices.Concat(d.Layers, d.Manifests)
	for _, one := range []*v1.Descriptor{d.Config, d.Subject} {
		if one != nil {
			all = append(all, *one)
		}
	}
	return all
}

// blobs returns the blobs of an image, without nondistributable layers.
func (d *document) blobs() []v1.Hash {
	if !types.MediaType(d.MediaType).IsImage() {
		return nil
	}
	var out []v1.Hash
	if d.Config != nil {
		out = append(out, d.Config.Digest)
	}
	for _, l := range d.Layers {
		if l.MediaType.IsDistributable() && len(l.URLs) == 0 {
			out = append(out, l.Digest)
		}
	}
	return out
}

// children returns the manifests of an index.
func (d *document) children() []v1.Hash {
	if !types.MediaType(d.MediaType).IsIndex() {
		return nil
	}
	var out []v1.Hash
	for _, c := range d.Manifests {
		out = append(out, c.Digest)
	}
	return out
}

// subjectOf returns the digest of a manifest's subject, or "".
func subjectOf(content []byte) string {
	var d document
	if err := json.Unmarshal(content, &d); err != nil || d.Subject == nil {
		return ""
	}
	return d.Subject.Digest.String()
}

// artifact returns the type by which referrers are listed and filtered: OCI
// distribution spec, "Listing Referrers".
func (d *document) artifact() string {
	if d.ArtifactType == "" && d.Config != nil {
		return string(d.Config.MediaType)
	}
	return d.ArtifactType
}
