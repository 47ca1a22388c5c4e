package xpkg_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// Annotate adds annotations to each image and the index, and keeps their other
// annotations. Attestations do not change.
func TestAnnotate(t *testing.T) {
	var images [2]v1.Image
	for i := range images {
		img, err := random.Image(100, 1)
		e2e.NoError(t, err)
		images[i], _ = mutate.Annotations(img, map[string]string{"a": "old", "b": "kept"}).(v1.Image)
	}
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: images[0], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}}},
		mutate.IndexAddendum{Add: images[1], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, Annotations: map[string]string{"x": "y"}}},
	)
	got, err := xpkg.Annotate(idx, map[string]string{"a": "new", "c": ""})
	e2e.NoError(t, err)
	annotated := got.(v1.ImageIndex)
	m, err := annotated.IndexManifest()
	e2e.NoError(t, err)
	was, err := idx.IndexManifest()
	e2e.NoError(t, err)
	if diff := cmp.Diff(map[string]string{"a": "new", "c": ""}, m.Annotations); diff != "" {
		t.Errorf("index: %s", diff)
	}
	if m.Manifests[0].Platform.Variant != "v7" || m.Manifests[0].Digest == was.Manifests[0].Digest {
		t.Errorf("the image's descriptor is %+v", m.Manifests[0])
	}
	if diff := cmp.Diff(was.Manifests[1], m.Manifests[1]); diff != "" {
		t.Errorf("attestation: %s", diff)
	}
	img, err := annotated.Image(m.Manifests[0].Digest)
	e2e.NoError(t, err)
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	child, err := img.Manifest()
	e2e.NoError(t, err)
	if diff := cmp.Diff(map[string]string{"a": "new", "b": "kept", "c": ""}, child.Annotations); diff != "" {
		t.Errorf("image: %s", diff)
	}
	if same, err := xpkg.Annotate(idx, nil); err != nil || same != any(idx) {
		t.Errorf("without annotations: %v, %v", same, err)
	}
}
