package image_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// file returns the path of r in the blobs folder of an OCI image layout.
func (r raw) file() string { return strings.Replace(r.digest(), ":", "/", 1) }

// serveRaw serves each of blobs by its digest, and the last of blobs for every tag.
func serveRaw(t *testing.T, blobs ...raw) string {
	t.Helper()
	return remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := blobs[len(blobs)-1]
		for _, b := range blobs {
			if strings.HasSuffix(r.URL.Path, b.digest()) {
				answer = b
			}
		}
		if r.URL.Path != "/v2/" {
			w.Header().Set("Content-Type", string(answer.mediaType))
			fmt.Fprint(w, answer.text)
		}
	}))
}

// edited returns an image of one layer with a changed manifest.
func edited(t *testing.T, change func(m, config, layer map[string]any)) []raw {
	t.Helper()
	config := raw{text: `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["` + zeros + `"]}}`}
	img := imageOf(int64(len(config.text)), 1, "")
	img.text = strings.Replace(img.text, zeros, config.digest(), 1)
	var m map[string]any
	e2e.NoError(t, json.Unmarshal([]byte(img.text), &m))
	layers, _ := m["layers"].([]any)
	layer, _ := layers[0].(map[string]any)
	c, _ := m["config"].(map[string]any)
	change(m, c, layer)
	return []raw{config, {string(e2e.Must(json.Marshal(m))(t)), img.mediaType}}
}

// The manifest and config of an image are validated before they are used.
func TestHostileImage(t *testing.T) {
	deep := []raw{small()}
	for range 6 {
		deep = append(deep, indexOf(deep[len(deep)-1], 1))
	}
	child := func(size string) []raw {
		idx := indexOf(small(), 1)
		idx.text = strings.Replace(idx.text, `"size":`, `"size":`+size, 1)
		return []raw{small(), idx}
	}
	alone := func(text string) []raw { return []raw{{text, types.OCIManifestSchema1}} }
	type object = map[string]any
	heavy := imageOf(2, 100, "")
	heavy.text = strings.ReplaceAll(heavy.text, `"size":1,`, `"size":1073741824,`)
	cases := map[string]struct {
		reason string
		serve  []raw
		err    string
	}{
		"Both":       {"an image that is also an index is an error", edited(t, func(m, _, _ object) { m["manifests"] = []any{} }), "an image and an index at once"},
		"Artifact":   {"a signature is not an image", edited(t, func(_, c, _ object) { c["mediaType"] = "text/sig" }), `the artifact is not an image, but "text/sig"`},
		"NoType":     {"another media type is an error", alone(`{"mediaType":"text/plain"}`), `neither an image nor an index, but "text/plain"`},
		"WrongType":  {"an image with the media type of an index is an error", edited(t, func(m, _, _ object) { m["mediaType"] = types.OCIImageIndex }), "neither an image nor an index"},
		"NoJSON":     {"a manifest must be JSON", alone("<html>"), "not valid JSON"},
		"Negative":   {"a negative size of a layer is an error", edited(t, func(_, _, l object) { l["size"] = -1 }), "impossible size of -1"},
		"Huge":       {"the size of a layer is limited", edited(t, func(_, _, l object) { l["size"] = 1 << 50 }), "impossible size"},
		"HugeSum":    {"the total size of layers is limited", []raw{heavy}, "larger than 16 GiB"},
		"Many":       {"the number of layers is limited", []raw{imageOf(2, 10_001, "")}, "more than 10000"},
		"Config":     {"the size of a config is limited", []raw{imageOf(2<<30, 0, "")}, "larger than 63 MiB"},
		"NoSize":     {"an unknown size of a config is an error", []raw{imageOf(-1, 0, "")}, "impossible size of -1"},
		"NoConfig":   {"an empty config is an error", edited(t, func(_, c, _ object) { c["size"], c["digest"] = 0, raw{}.digest() }), "the config is not valid"},
		"DiffIDs":    {"a config must list the layers", edited(t, func(m, _, _ object) { m["layers"] = []any{} }), "the config lists 1 layers, but the manifest lists 0"},
		"Sum":        {"only SHA-256 is supported", edited(t, func(_, _, l object) { l["digest"] = "sha512:" + strings.Repeat("0", 128) }), "not a SHA-256 sum"},
		"NoDigest":   {"a missing digest is an error", edited(t, func(_, _, l object) { delete(l, "digest") }), "not a SHA-256 sum"},
		"Deep":       {"the nesting of indexes is limited", deep, "nested more than 4 deep"},
		"LargeChild": {"the size of a manifest in an index is limited", child("9999"), "more than the limit"},
		"LyingChild": {"a wrong size of a manifest is an error", child("1"), "and should have 1"},
		"Empty":      {"an empty index has no platforms", []raw{indexOf(small(), 0)}, "there is no image for linux/amd64"},
		"Itself":     {"the size of a manifest is limited", []raw{imageOf(1, 0, `,"x":"`+strings.Repeat("x", 4<<20)+`"`)}, "more than 4 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ref := parse(t, serveRaw(t, append([]raw{{text: ""}, {text: "{}"}}, tc.serve...)...))
			_, err := openStore(t, t.TempDir()).Image(t.Context(), on(ref, "linux/amd64", t), quick())
			if err == nil || !strings.HasPrefix(err.Error(), `pulling "`+ref.Name()+`": `) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}
