package archive_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// go-containerregistry, with which the crossplane CLI reads the file, finds each image by its
// tag. The order in which images are given does not matter.
func TestWriteTagged(t *testing.T) {
	all := []archive.Tagged{{Tag: "example.org/b:arm64", Image: image(t, "linux", "arm64")}, {Tag: "example.org/a:configuration", Image: image(t, "", "")}}
	path := filepath.Join(t.TempDir(), "a.xpkg")
	e2e.NoError(t, archive.WriteTagged(t.Context(), path, all, nil))
	for _, want := range all {
		tag := e2e.Must(name.NewTag(want.Tag))(t)
		got, err := tarball.ImageFromPath(path, &tag)
		if err == nil {
			err = validate.Image(got)
		}
		if err != nil {
			t.Errorf("%s: %v", want.Tag, err)
			continue
		}
		config, err := got.ConfigName()
		wantConfig, wantErr := want.Image.ConfigName()
		if err := errors.Join(err, wantErr); err != nil || config != wantConfig {
			t.Errorf("%s has the config %s, %v, want %s", want.Tag, config, err, wantConfig)
		}
	}
	again := filepath.Join(t.TempDir(), "b.xpkg")
	e2e.NoError(t, archive.WriteTagged(t.Context(), again, []archive.Tagged{all[1], all[0]}, nil))
	a, errA := os.ReadFile(path)
	b, errB := os.ReadFile(again)
	if err := errors.Join(errA, errB); err != nil || string(a) != string(b) {
		t.Errorf("the file depends on the order of the images, %v", err)
	}
	if images := e2e.Open(archive.OpenTagged(t.Context(), path))(t).Images; len(images) != 2 || images[0].Tag != all[1].Tag {
		t.Errorf("got %d images, want two, sorted by tag", len(images))
	}
}

// A layer with a wrong digest leaves no file.
func TestWriteTaggedChecksLayers(t *testing.T) {
	p := e2e.Must(oci.PartsOf(image(t, "linux", "amd64")))(t)
	for i, l := range p.Layers {
		p.Layers[i] = flippedLayer{l}
	}
	img := e2e.Must(oci.Assemble(p.Config, p.Descriptors, p.Layers...))(t)
	path := filepath.Join(t.TempDir(), "a.xpkg")
	if err := archive.WriteTagged(t.Context(), path, []archive.Tagged{{Tag: "a:b", Image: img}}, nil); !errors.As(err, new(*oci.MismatchError)) {
		t.Errorf("got %v, want an error about the digest", err)
	}
	e2e.ErrorIs(t, "a failed write leaves no file", e2e.Err(os.Stat(path)), fs.ErrNotExist)
}

func TestOpenTaggedRefuses(t *testing.T) {
	config := `{"rootfs":{"type":"layers","diff_ids":["sha256:` + sha("x") + `"]}}`
	layer := string(tarOf(t, member{name: "a", text: "b"}))
	entry := func(tags, layer string) member {
		return member{name: "manifest.json", text: `[{"Config":"c","RepoTags":` + tags + `,"Layers":["` + layer + `"]}]`}
	}
	cases := map[string]struct {
		reason  string
		members []member
		want    string
	}{
		"NoTag":    {"an image without a tag has no repository", []member{entry("null", "l"), {name: "c", text: config}}, "image 1 has 0 tags"},
		"TwoTags":  {"an image has one repository", []member{entry(`["a:b","c:d"]`, "l"), {name: "c", text: config}}, "image 1 has 2 tags"},
		"NoLayer":  {"a missing layer is an error", []member{entry(`["a:b"]`, "l"), {name: "c", text: config}}, `image "a:b": layer 1 (l): the file is missing`},
		"NoImages": {"another tar is an error", []member{{name: "c", text: config}}, "it has neither oci-layout nor manifest.json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := file(t, tarOf(t, tc.members...))
			e2e.ErrorHas(t, tc.reason, e2e.Err(archive.OpenTagged(t.Context(), path)), tc.want, path)
		})
	}
	// The name of a layer is its digest, which reading verifies.
	wrong := sha("other") + ".tar.gz"
	diffID := strings.Replace(config, sha("x"), sha(layer), 1)
	images := e2e.Open(archive.OpenTagged(t.Context(), file(t, tarOf(t, entry(`["a:b"]`, wrong), member{name: "c", text: diffID}, member{name: wrong, text: string(gzipped(t, []byte(layer)))}))))(t).Images
	layers := e2e.Must(images[0].Image.Layers())(t)
	e2e.Equal(t, "the digest is the digest of the name", v1.Hash{Algorithm: "sha256", Hex: sha("other")}, e2e.Must(layers[0].Digest())(t))
	rc := e2e.Must(layers[0].Compressed())(t)
	if _, err := io.Copy(io.Discard, rc); !errors.As(err, new(*oci.MismatchError)) {
		t.Errorf("got %v, want an error about the digest", err)
	}
	e2e.NoError(t, rc.Close())
}
