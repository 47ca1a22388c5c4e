package xpkg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// Annotate returns a with annotations added to each image, and to the index if a is
// one. They replace annotations with the same key. Attestations and other artifacts
// in the index do not change.
func Annotate(a Artifact, annotations map[string]string) (Artifact, error) {
	if len(annotations) == 0 {
		return a, nil
	}
	return annotate(a, annotations, 0)
}

func annotate(a oci.Artifact, annotations map[string]string, depth int) (oci.Artifact, error) {
	if depth > oci.MaxDepth {
		return nil, fmt.Errorf("indexes are nested more than %d deep", oci.MaxDepth)
	}
	switch a := a.(type) {
	case v1.ImageIndex:
		return annotateIndex(a, annotations, depth)
	case v1.Image:
		m, err := a.Manifest()
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		if !oci.IsImage(m) {
			return a, nil
		}
		img, err := oci.Annotate(a, over(m.Annotations, annotations))
		if err != nil {
			return nil, err
		}
		return img, checkManifest(img)
	default:
		return nil, errors.New("the artifact is neither an image nor an index")
	}
}

// over returns both, and of the same key the second.
func over(old, with map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, old)
	maps.Copy(all, with)
	return all
}

// annotateIndex makes an index of the annotated children. All else of it stays,
// known here or not.
func annotateIndex(idx v1.ImageIndex, annotations map[string]string, depth int) (oci.Artifact, error) {
	m, err := idx.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	raw, err := idx.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	var fields map[string]json.RawMessage
	var descs []map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &fields), json.Unmarshal(fields["manifests"], &descs)); err != nil || len(descs) != len(m.Manifests) {
		return nil, errors.New("reading an index: it has no list of manifests")
	}
	children := make([]oci.Artifact, len(descs))
	for i, desc := range m.Manifests {
		if children[i], err = oci.Child(idx, desc); err != nil {
			return nil, err
		}
		if oci.IsAttestation(desc) {
			continue
		}
		if children[i], err = annotate(children[i], annotations, depth+1); err != nil {
			return nil, err
		}
		if err := point(descs[i], children[i]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(put(fields, "manifests", descs), put(fields, "annotations", over(m.Annotations, annotations))); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("encoding an index: %w", err)
	}
	annotated, err := oci.Index(raw, children...)
	if err != nil {
		return nil, err
	}
	return annotated, checkManifest(annotated)
}

// point makes a descriptor point at a.
func point(desc map[string]json.RawMessage, a oci.Artifact) error {
	d, err := oci.Describe(a)
	if err != nil {
		return err
	}
	return errors.Join(put(desc, "digest", d.Digest), put(desc, "size", d.Size))
}

func put(fields map[string]json.RawMessage, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	fields[key] = raw
	return nil
}
