package oci

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Annotate returns img with these annotations on its manifest, in place of those
// that it has. All else of the manifest stays, known here or not.
func Annotate(img v1.Image, annotations map[string]string) (v1.Image, error) {
	raw, err := img.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("reading a manifest: it is not a JSON object")
	}
	delete(fields, "annotations")
	if len(annotations) > 0 {
		if fields["annotations"], err = json.Marshal(annotations); err != nil {
			return nil, fmt.Errorf("encoding annotations: %w", err)
		}
	}
	if raw, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("encoding a manifest: %w", err)
	}
	p, err := PartsOf(img)
	if err != nil {
		return nil, err
	}
	return Image(raw, p.Config, p.Layers...)
}
