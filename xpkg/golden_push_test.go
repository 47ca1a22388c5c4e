package xpkg_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

const goldenPush = "../testdata/golden/xpkg/push"

// Open of a file that the crossplane CLI wrote returns the image that the crossplane
// CLI pushed: the same config, layers and annotations, with the media types of OCI.
func TestGoldenFiles(t *testing.T) {
	for _, name := range []string{"single-examples", "single-verbose"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(goldenPush, name, "in", "a.xpkg")
			img := e2e.Open(xpkg.Open(t.Context(), path))(t).Artifact.(v1.Image)
			e2e.NoError(t, validate.Image(img))
			want, got := pushed(t, name), manifestOf(t, img)
			e2e.Equal(t, "the config is that of the crossplane CLI", want.Config.Digest, got.Config.Digest)
			for i := range want.Layers {
				want.Layers[i].MediaType = "application/vnd.oci.image.layer.v1.tar+gzip"
			}
			e2e.Equal(t, "the layers are those of the crossplane CLI, with the media type of OCI", want.Layers, got.Layers)
			// WriteFile writes the opened image as an OCI layout of the same package.
			again := e2e.Open(xpkg.Open(t.Context(), writeFile(t, img)))(t).Artifact.(v1.Image)
			e2e.Equal(t, "a written package has the manifest of the opened one", got, manifestOf(t, again))
		})
	}
}

// pushed returns the manifest that a golden case pushed to the registry.
func pushed(t *testing.T, name string) v1.Manifest {
	t.Helper()
	data := []byte(e2e.ReadFile(t, goldenPush, name, "registry.json"))
	var tags map[string]struct{ Body v1.Manifest }
	e2e.NoError(t, json.Unmarshal(data, &tags))
	for _, tag := range tags {
		return tag.Body
	}
	t.Fatal("the case pushed nothing")
	return v1.Manifest{}
}

// The error of Open for a damaged file names the file, unlike the error of the crossplane CLI.
func TestGoldenDamagedFiles(t *testing.T) {
	for name, want := range map[string]string{"file-garbage": "not a tar file", "file-truncated": "the archive is not an image"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(goldenPush, name, "in", "a.xpkg")
			e2e.ErrorHas(t, "a damaged file is an error with its path", e2e.Err(xpkg.Open(t.Context(), path)), path, want)
		})
	}
}
