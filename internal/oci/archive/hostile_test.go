package archive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A member is an entry of a tar.
type member struct {
	name, text, link string
	kind             byte
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, m := range members {
		if m.kind == 0 {
			m.kind = tar.TypeReg
		}
		h := &tar.Header{Typeflag: m.kind, Name: m.name, Size: int64(len(m.text)), Linkname: m.link, Mode: 0o644}
		e2e.NoError(t, tw.WriteHeader(h))
		e2e.Must(io.WriteString(tw, m.text))(t)
	}
	e2e.NoError(t, tw.Close())
	return b.Bytes()
}

func sha(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func blob(text string) member { return member{name: "blobs/sha256/" + sha(text), text: text} }

func desc(mediaType, text string) string {
	return fmt.Sprintf(`{"mediaType":%q,"digest":"sha256:%s","size":%d}`, mediaType, sha(text), len(text))
}

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

var marker = member{name: "oci-layout", text: `{"imageLayoutVersion":"1.0.0"}`}

func layoutOf(descs string, blobs ...member) []member {
	return append([]member{marker, {name: "index.json", text: `{"schemaVersion":2,"manifests":[` + descs + `]}`}}, blobs...)
}

func TestOpenRefuses(t *testing.T) {
	config := `{"rootfs":{"type":"layers","diff_ids":[]}}`
	noLayers := `{"schemaVersion":2,"config":` + desc("application/vnd.oci.image.config.v1+json", config) + `,"layers":[]}`
	oneLayer := `{"schemaVersion":2,"config":` + desc("application/vnd.oci.image.config.v1+json", config) + `,"layers":[` + desc("application/vnd.oci.image.layer.v1.tar", "x") + `]}`
	good := desc(manifestType, noLayers)
	lie := strings.Replace(good, sha(noLayers), sha("other"), 1)
	nested, nestedBlobs := good, []member{blob(config), blob(noLayers)}
	for range 6 {
		idx := `{"schemaVersion":2,"manifests":[` + nested + `]}`
		nested, nestedBlobs = desc(indexType, idx), append(nestedBlobs, blob(idx))
	}
	docker := func(text string, more ...member) []member {
		return append([]member{{name: "manifest.json", text: text}}, more...)
	}
	layer := string(tarOf(t, member{name: "a", text: "b"}))
	configOf := func(id string) member {
		return member{name: "c", text: `{"rootfs":{"type":"layers","diff_ids":["sha256:` + id + `"]}}`}
	}
	cases := map[string]struct {
		reason  string
		members []member
		want    string
	}{
		"Nothing":        {"a tar without an image is an error", []member{{name: "a", text: "b"}}, "the archive is not an image"},
		"NoIndex":        {"a layout must have an index", []member{marker}, "index.json is missing"},
		"BadIndex":       {"the index must be JSON", []member{marker, {name: "index.json", text: "{"}}, "index.json is not valid"},
		"NoImages":       {"an empty index is an error", layoutOf(""), "lists no image"},
		"Several":        {"several images are an error", layoutOf(good + "," + lie), "lists 2 images"},
		"MissingBlob":    {"a missing manifest is an error", layoutOf(good), "is missing"},
		"WrongSize":      {"a wrong size is an error", layoutOf(strings.Replace(good, `"size":`, `"size":1`, 1), blob(config), blob(noLayers)), "and should have"},
		"WrongDigest":    {"a wrong digest is an error", layoutOf(lie, member{name: "blobs/sha256/" + sha("other"), text: noLayers}), "has the digest"},
		"OtherAlgorithm": {"only SHA-256 is supported", layoutOf(strings.Replace(good, "sha256:"+sha(noLayers), "sha512:"+strings.Repeat("0", 128), 1)), "is not a SHA-256 sum"},
		"OtherType":      {"a manifest must be of an image or an index", layoutOf(desc("text/plain", "x"), blob("x")), `"text/plain", which is neither`},
		"BadManifest":    {"a manifest must be JSON", layoutOf(desc(manifestType, "x"), blob("x")), "is not valid"},
		"LayerCount":     {"the config must list the layers", layoutOf(desc(manifestType, oneLayer), blob(config), blob(oneLayer)), "config lists 0 layers, but the manifest lists 1"},
		"Nesting":        {"the nesting of indexes is limited", layoutOf(nested, nestedBlobs...), "nested more than"},
		"DockerJSON":     {"the manifest must be JSON", docker("{"), "not valid JSON"},
		"DockerNone":     {"manifest.json must list an image", docker("[]"), "lists 0 images"},
		"DockerConfig":   {"a missing config is an error", docker(`[{"Config":"c"}]`), "c is missing"},
		"DockerLayer":    {"a missing layer is an error", docker(`[{"Config":"c","Layers":["l"]}]`, configOf(sha(layer))), "layer 1 (l): the file is missing"},
		"DockerNotTar":   {"a layer must be a tar", docker(`[{"Config":"c","Layers":["l"]}]`, configOf(sha("x")), member{name: "l", text: strings.Repeat("x", 600)}), "not a tar"},
		"DockerBadGzip":  {"a compressed layer must be valid", docker(`[{"Config":"c","Layers":["l"]}]`, configOf(sha("x")), member{name: "l", text: "\x1f\x8bnot gzip at all"}), "not valid gzip"},
		"DockerLinkLoop": {"a loop of links is an error", docker(`[{"Config":"c"}]`, member{name: "c", link: "c", kind: tar.TypeSymlink}), "c is missing"},
		"DockerOutside":  {"a link out of the archive is an error", docker(`[{"Config":"c"}]`, member{name: "c", link: "../../etc/passwd", kind: tar.TypeSymlink}), "c is missing"},
		"DockerDevice":   {"a device is not a file", docker(`[{"Config":"c"}]`, member{name: "c", kind: tar.TypeFifo}), "c is missing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := file(t, tarOf(t, tc.members...))
			_, err := archive.Open(t.Context(), path)
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			text := err.Error()
			if !strings.Contains(text, tc.want) || !strings.Contains(text, path) || strings.Contains(text, "\n") {
				t.Errorf("%s: want one sentence with %q and the file, got %q", tc.reason, tc.want, text)
			}
		})
	}
}

func TestOpenRefusesGarbage(t *testing.T) {
	cases := map[string]struct {
		reason, data, want string
		hint               bool
	}{
		"Empty":     {"an empty file is an error", "", "the file is empty", true},
		"Byte":      {"a very short file is an error", "x", "not a tar file", true},
		"Text":      {"a text is not a tar", strings.Repeat("hello ", 1000), "not a tar file", true},
		"Gzip":      {"a gzip file is an error with a hint", "\x1f\x8b\x08\x00", "compressed with gzip", true},
		"Zstandard": {"a zstd file is an error with a hint", "\x28\xb5\x2f\xfd\x00", "compressed with zstd", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := file(t, []byte(tc.data))
			_, err := archive.Open(t.Context(), path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("%s: got %v, want %q and the file in it", tc.reason, err, tc.want)
			}
			e2e.Equal(t, tc.reason+": has a hint", tc.hint, hint.Of(err) != "")
		})
	}
}

// Docker wrote equal layers as links to the first, up to version 24.
func TestOpenFollowsLinks(t *testing.T) {
	layer := string(tarOf(t, member{name: "a", text: "b"}))
	config := `{"rootfs":{"type":"layers","diff_ids":["sha256:` + sha(layer) + `","sha256:` + sha(layer) + `","sha256:` + sha(layer) + `"]}}`
	data := tarOf(t,
		member{name: "./1/layer.tar", text: layer},
		member{name: "2/layer.tar", link: "../1/layer.tar", kind: tar.TypeSymlink},
		member{name: "3/layer.tar", link: "2/layer.tar", kind: tar.TypeLink},
		member{name: "c.json", text: config},
		member{name: "manifest.json", text: `[{"Config":"c.json","Layers":["1/layer.tar","2/layer.tar","/3/layer.tar"]}]`},
	)
	f := open(t, file(t, data))
	assertLayers(t, f.Artifact.(v1.Image), layer, layer, layer)
}

func FuzzOpen(f *testing.F) {
	f.Add(write(f, image(f, "linux", "amd64")))
	f.Add(write(f, remotetest.Index(image(f, "linux", "amd64"), image(f, "linux", "arm64"))))
	f.Add(tarOf(f, layoutOf(desc(manifestType, "{}"), blob("{}"))...))
	f.Add(tarOf(f, member{name: "manifest.json", text: `[{"Config":"c","Layers":["l"]}]`}, member{name: "c", text: "{}"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.tar")
		e2e.NoError(t, os.WriteFile(path, data, 0o600))
		file, err := archive.Open(t.Context(), path)
		if err != nil {
			return
		}
		defer file.Close()
		// The artifact of an archive can be written twice, with the same bytes, unless its layers
		// are invalid.
		var once, twice bytes.Buffer
		if archive.Write(t.Context(), &once, file.Artifact, "", nil) != nil {
			return
		}
		if err := archive.Write(t.Context(), &twice, file.Artifact, "", nil); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("writing it again differs: %v", err)
		}
	})
}
