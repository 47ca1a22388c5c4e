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
		img := e2e.Must(random.Image(100, 1))(t)
		images[i], _ = mutate.Annotations(img, map[string]string{"a": "old", "b": "kept"}).(v1.Image)
	}
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: images[0], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}}},
		mutate.IndexAddendum{Add: images[1], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, Annotations: map[string]string{"x": "y"}}},
	)
	got := e2e.Must(xpkg.Annotate(idx, map[string]string{"a": "new", "c": ""}))(t)
	annotated := got.(v1.ImageIndex)
	m := e2e.Must(annotated.IndexManifest())(t)
	was := e2e.Must(idx.IndexManifest())(t)
	if diff := cmp.Diff(map[string]string{"a": "new", "c": ""}, m.Annotations); diff != "" {
		t.Errorf("index: %s", diff)
	}
	if m.Manifests[0].Platform.Variant != "v7" || m.Manifests[0].Digest == was.Manifests[0].Digest {
		t.Errorf("the image's descriptor is %+v", m.Manifests[0])
	}
	if diff := cmp.Diff(was.Manifests[1], m.Manifests[1]); diff != "" {
		t.Errorf("attestation: %s", diff)
	}
	img := e2e.Must(annotated.Image(m.Manifests[0].Digest))(t)
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	child := e2e.Must(img.Manifest())(t)
	if diff := cmp.Diff(map[string]string{"a": "new", "b": "kept", "c": ""}, child.Annotations); diff != "" {
		t.Errorf("image: %s", diff)
	}
	if same, err := xpkg.Annotate(idx, nil); err != nil || same != any(idx) {
		t.Errorf("without annotations: %v, %v", same, err)
	}
}
