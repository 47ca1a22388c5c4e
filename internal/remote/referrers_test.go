package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// listOf returns a handler that sends a list of n referrers. If link is not
// empty, the response has a Link header for the next page.
func listOf(n int, mediaType, link string) http.HandlerFunc {
	m := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: make([]v1.Descriptor, n)}
	for i := range m.Manifests {
		m.Manifests[i].Digest = v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%064x", i)}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		if link != "" {
			w.Header().Add("Link", `</elsewhere>; rel="prev"`)
			w.Header().Add("Link", link)
		}
		_, _ = w.Write(raw)
	}
}

func TestReferrers(t *testing.T) {
	const (
		api   = "/v2/gold/image/referrers/"
		index = string(types.OCIImageIndex)
	)
	subject := descOf(t, blob).Digest
	first, tag := api+subject.String(), "/v2/gold/image/manifests/"+remote.FallbackTag(subject)
	next := func(path string) string { return "<" + path + `>; rel="next"` }
	cases := map[string]struct {
		reason string
		serve  map[string]http.HandlerFunc
		want   int
		listed bool
		err    string
	}{
		"Listed":    {"the referrers API returns referrers", map[string]http.HandlerFunc{first: listOf(2, index, ""), tag: listOf(5, index, "")}, 2, true, ""},
		"None":      {"the referrers API returns an empty list", map[string]http.HandlerFunc{first: listOf(0, index, ""), tag: listOf(5, index, "")}, 0, true, ""},
		"Pages":     {"a list may have several pages", map[string]http.HandlerFunc{first: listOf(2, index, next("?last=x")), first + "?last=x": listOf(3, index, next("/more")), "/more": listOf(1, index, "")}, 6, true, ""},
		"Elsewhere": {"a page must be at the same registry", map[string]http.HandlerFunc{first: listOf(2, index, next("http://registry.example.org/x"))}, 0, false, "outside of the registry"},
		"Endless":   {"the number of pages is limited", map[string]http.HandlerFunc{first: listOf(2, index, next(first))}, 0, false, "more than 100 pages"},
		"TooMany":   {"the number of referrers on a page is limited", map[string]http.HandlerFunc{first: listOf(1001, index, "")}, 0, false, "more than 1000 manifests"},
		"Cut":       {"a missing page is an error", map[string]http.HandlerFunc{first: listOf(2, index, next("/none"))}, 0, false, "ends before its last page"},
		"Fallback":  {"a registry without the referrers API has the fallback tag", map[string]http.HandlerFunc{tag: listOf(3, index, "")}, 3, false, ""},
		"Nothing":   {"a registry without the fallback tag has no referrers", map[string]http.HandlerFunc{}, 0, false, ""},
		"Page":      {"a response with HTML means that there is no referrers API", map[string]http.HandlerFunc{first: listOf(2, "text/html", ""), tag: listOf(3, index, "")}, 3, false, ""},
		"Method":    {"status 405 means that there is no referrers API", map[string]http.HandlerFunc{first: remotetest.Status(405), tag: listOf(3, index, "")}, 3, false, ""},
		"Broken": {"a list that is not JSON is an error", map[string]http.HandlerFunc{first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", index)
			_, _ = w.Write([]byte("<html>"))
		}}, 0, false, "is not valid"},
		"Forbidden": {"status 403 is an error", map[string]http.HandlerFunc{first: remotetest.Status(403)}, 0, false, "denied access"},
		"BadTag":    {"a fallback tag with too many referrers is an error", map[string]http.HandlerFunc{tag: listOf(1001, index, "")}, 0, false, "expected a list of at most 1000 referrers"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			c, b, repo := blobsOf(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				at := r.URL.Path
				if r.URL.RawQuery != "" {
					at += "?" + r.URL.RawQuery
				}
				if answer := tc.serve[at]; answer != nil {
					answer(w, r)
				} else if at != "/v2/" {
					w.WriteHeader(http.StatusNotFound)
				}
			})))
			got, err := b.Referrers(t.Context(), subject)
			checkError(t, tc.reason, c.Explain(repo.Tag("v1"), err), tc.err, "")
			if err == nil && (len(got.Manifests) != tc.want || got.Listed != tc.listed) {
				t.Errorf("%s: got %d, listed %v", tc.reason, len(got.Manifests), got.Listed)
			}
			same, err := e2e.Must(c.Uploader(t.Context(), repo))(t).Referrers(t.Context(), subject)
			if err == nil && (len(same.Manifests) != tc.want || same.Listed != tc.listed) || (err == nil) != (tc.err == "") {
				t.Errorf("%s: the pusher gets %+v, %v", tc.reason, same, err)
			}
		})
	}
}

// FallbackTag returns at most 128 characters, the maximum length of a tag.
func TestFallbackTag(t *testing.T) {
	cases := map[string]string{
		"sha256:" + strings.Repeat("a", 64):  "sha256-" + strings.Repeat("a", 64),
		"sha512:" + strings.Repeat("a", 128): "sha512-" + strings.Repeat("a", 121),
	}
	for digest, want := range cases {
		h := e2e.Must(v1.NewHash(digest))(t)
		e2e.Equal(t, "the tag has the digest, cut to the maximum length", want, remote.FallbackTag(h))
	}
}
