package image_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// file is where a blob of these bytes lies.
func (r raw) file() string { return strings.Replace(r.digest(), ":", "/", 1) }

// serveRaw serves blobs and manifests by their digests, whatever they are, and
// the last one as each tag.
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

// edited is an image of one layer whose manifest was changed.
func edited(t *testing.T, change func(m, config, layer map[string]any)) []raw {
	t.Helper()
	config := raw{text: `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["` + zeros + `"]}}`}
	img := imageOf(int64(len(config.text)), 1, "")
	img.text = strings.Replace(img.text, zeros, config.digest(), 1)
	var m map[string]any
	must(t, json.Unmarshal([]byte(img.text), &m))
	layers, _ := m["layers"].([]any)
	layer, _ := layers[0].(map[string]any)
	c, _ := m["config"].(map[string]any)
	change(m, c, layer)
	text, err := json.Marshal(m)
	must(t, err)
	return []raw{config, {string(text), img.mediaType}}
}

// What a registry says that an image is, is checked before it is used.
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
		"Both":       {"an image that is an index, too", edited(t, func(m, _, _ object) { m["manifests"] = []any{} }), "an image and an index at once"},
		"Artifact":   {"a signature, which is stored like an image", edited(t, func(_, c, _ object) { c["mediaType"] = "text/sig" }), `it is not an image, but "text/sig"`},
		"NoType":     {"something else", alone(`{"mediaType":"text/plain"}`), `neither an image nor an index, but "text/plain"`},
		"WrongType":  {"an image that calls itself an index", edited(t, func(m, _, _ object) { m["mediaType"] = types.OCIImageIndex }), "neither an image nor an index"},
		"NoJSON":     {"no JSON", alone("<html>"), "not valid JSON"},
		"Negative":   {"a layer of less than nothing", edited(t, func(_, _, l object) { l["size"] = -1 }), "impossible size of -1"},
		"Huge":       {"a layer that fills any disk", edited(t, func(_, _, l object) { l["size"] = 1 << 50 }), "impossible size"},
		"HugeSum":    {"layers that do so together", []raw{heavy}, "larger than 16 GiB"},
		"Many":       {"many layers", []raw{imageOf(2, 10_001, "")}, "more than 10000"},
		"Config":     {"a config of 2 GiB", []raw{imageOf(2<<30, 0, "")}, "larger than 63 MiB"},
		"NoSize":     {"a config of unknown size", []raw{imageOf(-1, 0, "")}, "impossible size of -1"},
		"NoConfig":   {"a config that is no JSON", edited(t, func(_, c, _ object) { c["size"], c["digest"] = 0, raw{}.digest() }), "its config is not valid"},
		"DiffIDs":    {"a config of other layers", edited(t, func(m, _, _ object) { m["layers"] = []any{} }), "its config is of 1 layers, and its manifest of 0"},
		"Sum":        {"a digest that is no SHA-256 sum", edited(t, func(_, _, l object) { l["digest"] = "sha512:" + strings.Repeat("0", 128) }), "not a SHA-256 sum"},
		"NoDigest":   {"no digest", edited(t, func(_, _, l object) { delete(l, "digest") }), "not a SHA-256 sum"},
		"Deep":       {"indexes in indexes", deep, "nested more than 4 deep"},
		"LargeChild": {"a manifest that an index says is large", child("9999"), "more than the limit"},
		"LyingChild": {"a manifest whose size is wrong", child("1"), "and should have 1"},
		"Empty":      {"an index of nothing", []raw{indexOf(small(), 0)}, "it has no image for linux/amd64"},
		"Itself":     {"a manifest that is too large", []raw{imageOf(1, 0, `,"x":"`+strings.Repeat("x", 4<<20)+`"`)}, "more than 4 MiB"},
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
