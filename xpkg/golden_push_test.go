package xpkg_test

import (
	"encoding/json"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
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

// Open of an image that docker save wrote, without compression, also returns the image that the crossplane
// CLI pushes: its layers have the digests in the labels of the config.
func TestGoldenSavedImage(t *testing.T) {
	img := e2e.Open(xpkg.Open(t.Context(), filepath.Join(goldenPush, "single-examples", "in", "a.xpkg")))(t).Artifact.(v1.Image)
	unpacked := empty.Image
	for _, l := range e2e.Must(img.Layers())(t) {
		tar := e2e.Must(io.ReadAll(e2e.Must(l.Uncompressed())(t)))(t)
		unpacked = e2e.Must(mutate.AppendLayers(unpacked, static.NewLayer(tar, types.OCIUncompressedLayer)))(t)
	}
	unpacked = e2e.Must(mutate.ConfigFile(unpacked, configOf(t, img)))(t)
	archive := filepath.Join(t.TempDir(), "saved.tar")
	e2e.NoError(t, tarball.WriteToFile(archive, name.MustParseReference("example.org/acme/a:v1"), unpacked))
	layout := writeFile(t, mutate.ConfigMediaType(mutate.MediaType(unpacked, types.OCIManifestSchema1), types.OCIConfigJSON))
	for reason, path := range map[string]string{"a Docker archive": archive, "an OCI layout": layout} {
		saved := manifestOf(t, e2e.Open(xpkg.OpenImage(t.Context(), path))(t).Artifact.(v1.Image))
		e2e.Equal(t, reason+" has layers that are not compressed", types.OCIUncompressedLayer, saved.Layers[0].MediaType)
		opened := e2e.Open(xpkg.Open(t.Context(), path))(t).Artifact.(v1.Image)
		e2e.NoError(t, validate.Image(opened))
		e2e.Equal(t, reason+" opens as the image that the crossplane CLI pushes", manifestOf(t, img), manifestOf(t, opened))
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
