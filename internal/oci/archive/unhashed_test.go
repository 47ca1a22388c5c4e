package archive_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// saved returns the path of a Docker archive of one layer, whose config has the diff ID
// diffID.
func saved(t *testing.T, layer, diffID string) string {
	t.Helper()
	config := fmt.Sprintf(`{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}`, diffID)
	return file(t, tarOf(t, member{name: "manifest.json", text: `[{"Config":"c","Layers":["l"]}]`}, member{name: "c", text: config}, member{name: "l", text: layer}))
}

func imageIn(t *testing.T, path string) v1.Image {
	t.Helper()
	img, ok := open(t, path).Artifact.(v1.Image)
	if !ok {
		t.Fatal("it contains no image")
	}
	return img
}

// overwrite changes the last byte of a text in a file.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	data := e2e.ReadFile(t, path)
	changed := strings.Replace(data, text, text[:len(text)-1]+"!", 1)
	f := e2e.Must(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer f.Close()
	e2e.Must(f.WriteString(changed))(t)
}

// The config and layers of a Docker archive's image are available without reading the
// layers. The start time of an unpacked function therefore does not depend on its size. The
// digest is computed from the layers.
func TestUnhashed(t *testing.T) {
	layer := string(tarOf(t, member{name: "a", text: "content"}))
	img := imageIn(t, saved(t, layer, sha("another layer")))
	e2e.Equal(t, "the config is available without the digests of the layers", sha("another layer"), e2e.Must(img.ConfigFile())(t).RootFS.DiffIDs[0].Hex)
	e2e.WantError(t, "the digest of the config is available without the digests of the layers", e2e.Err(img.ConfigName()), "")
	assertLayers(t, img, layer)
	const want = "layer l: the digest is sha256:"
	for name, ask := range map[string]func() error{
		"Digest":      func() error { _, err := img.Digest(); return err },
		"Manifest":    func() error { _, err := img.Manifest(); return err },
		"LayerDigest": func() error { layers, _ := img.Layers(); _, err := layers[0].Digest(); return err },
		"ByDigest":    func() error { _, err := img.LayerByDigest(v1.Hash{}); return err },
	} {
		e2e.ErrorHas(t, name+" computes the digest of the layer", ask(), want, "but the config says")
	}
}

func TestUnhashedChanges(t *testing.T) {
	layer := string(tarOf(t, member{name: "a", text: "content"}))
	path := saved(t, layer, sha(layer))
	img := imageIn(t, path)
	before := digest(t, img)
	overwrite(t, path, "content")
	rc := e2e.Must(e2e.Must(img.Layers())(t)[0].Compressed())(t)
	e2e.Error(t, fmt.Sprintf("a layer of %s was read although its content changed after its digest was computed", before), e2e.Err(io.Copy(io.Discard, rc)))
}

func TestUnhashedStops(t *testing.T) {
	layer := string(tarOf(t, member{name: "a", text: "content"}))
	ctx, cancel := context.WithCancel(t.Context())
	f := e2e.Open(archive.Open(ctx, saved(t, layer, sha(layer))))(t)
	cancel()
	e2e.ErrorIs(t, "Digest returns an error after the context has ended", e2e.Err(f.Artifact.Digest()), context.Canceled)
}
