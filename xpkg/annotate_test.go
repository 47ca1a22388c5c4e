package xpkg_test

import (
	"testing"

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
		images[i], _ = mutate.Annotations(e2e.Must(random.Image(100, 1))(t), map[string]string{"a": "old", "b": "kept"}).(v1.Image)
	}
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: images[0], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}}},
		mutate.IndexAddendum{Add: images[1], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, Annotations: map[string]string{"x": "y"}}},
	)
	annotated := e2e.Must(xpkg.Annotate(idx, map[string]string{"a": "new", "c": ""}))(t).(v1.ImageIndex)
	m := e2e.Must(annotated.IndexManifest())(t)
	was := e2e.Must(idx.IndexManifest())(t)
	e2e.Equal(t, "index", map[string]string{"a": "new", "c": ""}, m.Annotations)
	if m.Manifests[0].Platform.Variant != "v7" || m.Manifests[0].Digest == was.Manifests[0].Digest {
		t.Errorf("the image's descriptor is %+v", m.Manifests[0])
	}
	e2e.Equal(t, "attestation", was.Manifests[1], m.Manifests[1])
	img := e2e.Must(annotated.Image(m.Manifests[0].Digest))(t)
	e2e.NoError(t, validate.Image(img))
	e2e.Equal(t, "image", map[string]string{"a": "new", "b": "kept", "c": ""}, e2e.Must(img.Manifest())(t).Annotations)
	if same, err := xpkg.Annotate(idx, nil); err != nil || same != any(idx) {
		t.Errorf("without annotations: %v, %v", same, err)
	}
}
