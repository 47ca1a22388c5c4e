package archive_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

const configType = "application/vnd.oci.image.config.v1+json"

// Since version 25, docker save writes an OCI layout beside manifest.json. The layout may
// be incomplete.
func TestOpenDockerSave(t *testing.T) {
	layer := string(tarOf(t, member{name: "a", text: "b"}))
	config := `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["sha256:` + sha(layer) + `"]}}`
	manifest := func(layers string) string {
		return `{"schemaVersion":2,"config":` + desc(configType, config) + `,"layers":[` + layers + `]}`
	}
	whole, bare := manifest(desc("application/vnd.oci.image.layer.v1.tar", layer)), manifest("")
	tagged := func(text, tag string) string {
		return strings.TrimSuffix(desc(manifestType, text), "}") + `,"annotations":{"org.opencontainers.image.ref.name":"` + tag + `"}}`
	}
	partly := `{"schemaVersion":2,"manifests":[` + desc(manifestType, whole) + `,` + desc(manifestType, "not pulled") + `]}`
	entry := fmt.Sprintf(`{"Config":"blobs/sha256/%s","Layers":["blobs/sha256/%s"]}`, sha(config), sha(layer))
	docker := member{name: "manifest.json", text: "[" + entry + "]"}
	cases := map[string]struct {
		reason  string
		members []member
		docker  bool
	}{
		"TwoTags":    {"one image may have two names", layoutOf(tagged(whole, "v1")+","+tagged(whole, "latest"), docker, blob(whole)), false},
		"ByID":       {"an image without a name is not in the index", []member{marker, {name: "index.json", text: `{"schemaVersion":2,"manifests":null}`}, docker}, true},
		"Engine25":   {"this engine omits the layers", layoutOf(desc(manifestType, bare), docker, blob(bare)), true},
		"Containerd": {"one platform of the index is present", layoutOf(desc(indexType, partly), docker, blob(partly), blob(whole)), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := open(t, file(t, tarOf(t, append(tc.members, blob(config), blob(layer))...)))
			e2e.Equal(t, tc.reason+": read as a Docker archive", tc.docker, f.Docker)
			img, ok := f.Artifact.(v1.Image)
			if !ok {
				t.Fatalf("%s: got a %T, want an image", tc.reason, f.Artifact)
			}
			assertLayers(t, img, layer)
			e2e.Equal(t, tc.reason+": the config", config, string(e2e.Must(img.RawConfigFile())(t)))
		})
	}
}

func assertLayers(t *testing.T, img v1.Image, want ...string) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != len(want) {
		t.Fatalf("got %d layers, %v, want %d", len(layers), err, len(want))
	}
	for i, l := range layers {
		rc := e2e.Must(l.Uncompressed())(t)
		e2e.Equal(t, fmt.Sprintf("layer %d has its content", i), want[i], string(e2e.Must(io.ReadAll(rc))(t)))
	}
}

// A layout with a wrong digest or several images is an error, not a Docker archive.
func TestOpenRefusesTheRest(t *testing.T) {
	config := `{"rootfs":{"type":"layers","diff_ids":[]}}`
	manifest := `{"schemaVersion":2,"config":` + desc(configType, config) + `,"layers":[]}`
	other := manifest + " "
	docker := member{name: "manifest.json", text: `[{"Config":"blobs/sha256/` + sha(config) + `"}]`}
	two := member{name: "manifest.json", text: `[{"Config":"a"},{"Config":"b"}]`}
	good := desc(manifestType, manifest)
	cases := map[string]struct {
		reason  string
		members []member
		want    string
	}{
		"Changed":   {"a wrong digest is an error", layoutOf(desc(manifestType, other), docker, member{name: blob(other).name, text: manifest + "\n"}), "has the digest"},
		"Several":   {"several images in the index are an error", layoutOf(good+","+desc(manifestType, other), docker, blob(manifest), blob(other)), "lists 2 images"},
		"SeveralID": {"several images in manifest.json are an error", layoutOf("", two), "manifest.json lists 2 images"},
		"NoBlobs":   {"a truncated file is an error", layoutOf(good, docker), "blobs/sha256/"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(archive.Open(t.Context(), file(t, tarOf(t, tc.members...)))), tc.want)
		})
	}
}

// An index keeps signatures and other artifacts.
func TestRoundTripOfOtherArtifacts(t *testing.T) {
	config, content := "{}", "signed"
	signature := `{"schemaVersion":2,"artifactType":"application/vnd.example","config":` + desc("application/vnd.oci.empty.v1+json", config) + `,"layers":[` + desc("application/vnd.example.signature", content) + `]}`
	imageConfig := `{"rootfs":{"type":"layers","diff_ids":[]}}`
	manifest := `{"schemaVersion":2,"config":` + desc(configType, imageConfig) + `,"layers":[]}`
	idx := `{"schemaVersion":2,"mediaType":"` + indexType + `","manifests":[` + desc(manifestType, signature) + `,` + desc(manifestType, manifest) + `]}`
	f := open(t, file(t, tarOf(t, layoutOf(desc(indexType, idx), blob(idx), blob(signature), blob(config), blob(content), blob(manifest), blob(imageConfig))...)))
	again := file(t, write(t, f.Artifact))
	held := map[string]string{}
	for h, text := range e2e.Tar(t, e2e.Must(os.Open(again))(t)) {
		held[h.Name] = text
	}
	for _, text := range []string{idx, signature, config, content, manifest, imageConfig} {
		e2e.Equal(t, "each blob of the index is written unchanged", text, held[blob(text).name])
	}
	e2e.Equal(t, "docker load would load only the image", `[{"Config":"`+blob(imageConfig).name+`","RepoTags":null,"Layers":[]}]`, held["manifest.json"])
	e2e.Equal(t, "the digest of a written file stays the same", digest(t, f.Artifact), digest(t, open(t, again).Artifact))
}

var errRead = errors.New("the layer was read")

// A hugeLayer has a size of 8 GiB but no content.
type hugeLayer struct{ v1.Layer }

func (hugeLayer) Digest() (v1.Hash, error) {
	return v1.Hash{Algorithm: "sha256", Hex: sha("huge")}, nil
}
func (hugeLayer) Size() (int64, error)                 { return 8 << 30, nil }
func (hugeLayer) MediaType() (types.MediaType, error)  { return types.OCILayer, nil }
func (hugeLayer) Compressed() (io.ReadCloser, error)   { return nil, errRead }
func (hugeLayer) Uncompressed() (io.ReadCloser, error) { return nil, errRead }

// A layer of 8 GiB can be written, although USTAR headers allow only smaller files.
func TestWriteHugeLayer(t *testing.T) {
	d := e2e.Must(partial.Descriptor(hugeLayer{}))(t)
	img := e2e.Must(oci.Assemble([]byte(`{"rootfs":{"type":"layers","diff_ids":["`+d.Digest.String()+`"]}}`), []v1.Descriptor{*d}, hugeLayer{}))(t)
	e2e.ErrorIs(t, "a layer of 8 GiB is read, and its size is not an error", archive.Write(t.Context(), io.Discard, img, "", nil), errRead)
}
