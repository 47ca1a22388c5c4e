package runtimeimage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

func writeArchive(t *testing.T, a oci.Artifact) string {
	t.Helper()
	var b bytes.Buffer
	e2e.NoError(t, archive.Write(t.Context(), &b, a, "writing", nil))
	return write(t, b.Bytes())
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rt.tar")
	e2e.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func image(t *testing.T, arch string) v1.Image {
	t.Helper()
	img := e2e.Must(random.Image(1000, 2))(t)
	return remotetest.Configured(t, mutate.MediaType(img, types.OCIManifestSchema1), v1.Platform{OS: "linux", Architecture: arch}, v1.Config{})
}

// FromTarball returns all images of an index with their layers.
func TestFromTarballIndex(t *testing.T) {
	a, b := image(t, "amd64"), image(t, "arm64")
	idx := remotetest.Index(a, b)
	images := e2e.Must(runtimeimage.FromTarball(t.Context(), writeArchive(t, idx), options(t)))(t)
	defer images.Close()
	if len(images.All) != 2 {
		t.Fatalf("got %d images, want 2", len(images.All))
	}
	for i, want := range []v1.Image{a, b} {
		e2e.NoError(t, validate.Image(images.All[i]))
		assertSameLayers(t, images.All[i], want)
	}
}

func assertSameLayers(t *testing.T, got, want v1.Image) {
	t.Helper()
	g := e2e.Must(got.Manifest())(t)
	w := e2e.Must(want.Manifest())(t)
	if len(g.Layers) != len(w.Layers) {
		t.Fatalf("got %d layers, want %d", len(g.Layers), len(w.Layers))
	}
	for i := range g.Layers {
		e2e.Equal(t, fmt.Sprintf("layer %d keeps its digest", i), w.Layers[i].Digest, g.Layers[i].Digest)
	}
}

func dockerSave(t *testing.T, images map[name.Tag]v1.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	e2e.NoError(t, tarball.MultiWrite(images, &b))
	return b.Bytes()
}

func TestFromTarballRefuses(t *testing.T) {
	one := dockerSave(t, map[name.Tag]v1.Image{name.MustParseReference("a:v1").(name.Tag): image(t, "amd64")})
	two := dockerSave(t, map[name.Tag]v1.Image{
		name.MustParseReference("a:v1").(name.Tag): image(t, "amd64"),
		name.MustParseReference("b:v1").(name.Tag): image(t, "amd64"),
	})
	cases := map[string]struct {
		reason string
		data   []byte
		want   string
	}{
		"Text":      {"a text file is an error", bytes.Repeat([]byte("hello\n"), 1000), "not a tar file"},
		"Truncated": {"a truncated file is an error", one[:len(one)/2], "is truncated"},
		"Several":   {"a file with several images is an error", two, "lists 2 images"},
		"NoImage":   {"a tar without an image is an error", make([]byte, 10240), "neither oci-layout nor manifest.json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := write(t, tc.data)
			_, err := runtimeimage.FromTarball(t.Context(), path, options(t))
			assertSentence(t, tc.reason, err, tc.want, path)
		})
	}
}

// FromTarball compresses an uncompressed layer once, even if two images share it. The
// layer must match the diff ID in the config.
func TestFromTarballCompressesOnce(t *testing.T) {
	rc := e2e.Must(e2e.Must(random.Layer(5000, types.OCIUncompressedLayer))(t).Uncompressed())(t)
	var plain bytes.Buffer
	e2e.Must(plain.ReadFrom(rc))(t)
	cases := map[string]struct{ reason, diffID, want string }{
		"Right": {"a shared layer is compressed once", sum(t, plain.Bytes()).String(), ""},
		"Wrong": {"a layer must match the digest in the config", sum(t, nil).String(), "in its config"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			idx := plainIndex(t, plain.Bytes(), tc.diffID)
			opts := options(t)
			images, err := runtimeimage.FromTarball(t.Context(), writeArchive(t, idx), opts)
			if tc.want != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.want)
				return
			}
			e2e.NoError(t, err)
			defer images.Close()
			for _, img := range images.All {
				e2e.NoError(t, validate.Image(img))
			}
			spooled, err := filepath.Glob(filepath.Join(opts.TempDir, ".xfn-*.tmp"))
			if err != nil || len(spooled) != 1 {
				t.Fatalf("got the files %v, %v", spooled, err)
			}
			if info, err := os.Stat(spooled[0]); err != nil || info.Size() > int64(len(plain.Bytes()))+2048 {
				t.Errorf("%s: got %d bytes, %v", tc.reason, info.Size(), err)
			}
		})
	}
}

func sum(t *testing.T, data []byte) v1.Hash {
	t.Helper()
	h, _, err := v1.SHA256(bytes.NewReader(data))
	e2e.NoError(t, err)
	return h
}

// plainIndex returns an index of two images that share a layer.
func plainIndex(t *testing.T, layer []byte, diffID string) v1.ImageIndex {
	t.Helper()
	digest := sum(t, layer)
	l := e2e.Must(oci.Layer(bytes.NewReader(layer), oci.Blob{Digest: digest, Size: int64(len(layer)), MediaType: types.OCIUncompressedLayer}))(t)
	var images []mutate.Appendable
	for _, arch := range []string{"amd64", "arm64"} {
		config := `{"os":"linux","architecture":"` + arch + `","rootfs":{"type":"layers","diff_ids":["` + diffID + `"]}}`
		img := e2e.Must(oci.Assemble([]byte(config), []v1.Descriptor{{MediaType: types.OCIUncompressedLayer, Digest: digest, Size: int64(len(layer))}}, l))(t)
		images = append(images, img)
	}
	return remotetest.Index(images...)
}

func TestFromTarballStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := writeArchive(t, image(t, "amd64"))
	cancel()
	e2e.ErrorIs(t, "FromTarball returns the cause of its context", e2e.Err(runtimeimage.FromTarball(ctx, path, options(t))), context.Canceled)
}

// FromTarball compares the layers of a Docker archive, compressed or not, with the diff
// IDs in the config.
func TestFromTarballWrongDiffID(t *testing.T) {
	img := image(t, "amd64")
	config := e2e.Must(img.ConfigFile())(t)
	config = config.DeepCopy()
	ids := config.RootFS.DiffIDs
	ids[0], ids[1] = ids[1], ids[0]
	lying := e2e.Must(mutate.ConfigFile(img, config))(t)
	for reason, tc := range map[string]struct {
		img  v1.Image
		want string
	}{
		"the layers are in the config's order":                    {img, ""},
		"layers in another order than in the config are an error": {lying, "but the config says"},
	} {
		path := filepath.Join(t.TempDir(), "rt.tar")
		e2e.NoError(t, tarball.WriteToFile(path, name.MustParseReference("rt"), tc.img))
		images, err := runtimeimage.FromTarball(t.Context(), path, options(t))
		if err == nil {
			err = images.Close()
		}
		e2e.WantError(t, reason, err, tc.want)
	}
}

func TestWriteTarChanged(t *testing.T) {
	for content, reason := range map[string]string{"ab": "a file that became shorter", "abcd": "a file that became longer"} {
		f := runtimeimage.TarFile{Path: "app/file", Mode: 0o644, Size: 3, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
		e2e.ErrorHas(t, reason, runtimeimage.WriteTar(t.Context(), io.Discard, []runtimeimage.TarFile{f}), `adding "/app/file": the size of the file changed while it was read`)
	}
}
