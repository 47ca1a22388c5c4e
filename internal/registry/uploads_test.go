package registry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/registry"
)

// An upload that fails leaves no file.
func TestFailedUpload(t *testing.T) {
	cases := map[string]struct {
		reason, method, query string
		body                  io.Reader
		status                int
	}{
		"PostBroken":    {"a blob that broke off in its only request", "POST", "?digest=" + sum("x"), broken("x"), 500},
		"PostBadDigest": {"a digest that is none", "POST", "?digest=sha256:0", strings.NewReader("x"), 400},
		"PostOther":     {"a blob of another digest", "POST", "?digest=" + sum("y"), strings.NewReader("x"), 400},
		"PatchBroken":   {"a blob that broke off", "PATCH", "", broken("x"), 500},
		"PutBroken":     {"a blob that broke off at its end", "PUT", "?digest=" + sum("x"), broken("x"), 500},
		"PutBadDigest":  {"a digest that is none, at the end", "PUT", "?digest=sha256:0", strings.NewReader("x"), 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			reg, err := registry.Open(dir)
			must(t, err)
			t.Cleanup(func() { must(t, reg.Close()) })
			path := "/v2/a/blobs/uploads/"
			if tc.method != http.MethodPost {
				w := httptest.NewRecorder()
				reg.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
				path = w.Header().Get("Location")
			}
			w := httptest.NewRecorder()
			reg.ServeHTTP(w, httptest.NewRequest(tc.method, path+tc.query, tc.body))
			if w.Code != tc.status {
				t.Errorf("%s: got %d %s, want %d", tc.reason, w.Code, w.Body, tc.status)
			}
			if got := files(t, dir); !cmp.Equal(got, []string{"registry.lock"}) {
				t.Errorf("%s: files are left: %v", tc.reason, got)
			}
		})
	}
}

// broken is a body whose connection ends after its first bytes.
func broken(first string) io.Reader {
	return io.MultiReader(strings.NewReader(first), iotest.ErrReader(io.ErrUnexpectedEOF))
}
