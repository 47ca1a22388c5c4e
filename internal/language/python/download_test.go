package python_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
)

// TestFetchResumes builds with the beginning of a wheel in the cache, which an interrupted
// build left there.
func TestFetchResumes(t *testing.T) {
	wheel := newWheel(t, "click", "8.4.1", "py3-none-any", map[string]string{"click/__init__.py": "c = 1\n"})
	half := len(wheel.data) / 2
	damaged := bytes.Repeat([]byte("x"), half)
	cases := map[string]struct {
		reason string
		left   []byte
		whole  bool // the server ignores ranges
		want   []string
	}{
		"None":     {"a new download asks for the whole file", nil, false, []string{""}},
		"Half":     {"a download continues after the last byte", wheel.data[:half], false, []string{fmt.Sprintf("bytes=%d-", half)}},
		"NoRanges": {"a server without ranges sends the file from its beginning", wheel.data[:half], true, []string{fmt.Sprintf("bytes=%d-", half)}},
		"Damaged":  {"a damaged beginning is fetched again", damaged, false, []string{fmt.Sprintf("bytes=%d-", half), ""}},
		"Whole":    {"a complete file is not fetched again", wheel.data, false, nil},
		"TooLong":  {"a file that is too long is fetched again", append(bytes.Clone(wheel.data), 'x'), false, []string{fmt.Sprintf("bytes=%d-", len(wheel.data)+1), ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Header.Get("Range"))
				if tc.whole {
					w.Write(wheel.data)
					return
				}
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(wheel.data))
			}))
			t.Cleanup(server.Close)
			dir, cache := source(t, strings.Replace(manifest, `"grpcio>=1.73.1", `, "", 1)), t.TempDir()
			e2e.WriteFiles(t, dir, map[string]string{"pylock.toml": pylock(server.URL, []wheelFile{wheel})})
			e2e.WriteFiles(t, cache, map[string]string{"python/sha256/other": ""})
			leave(t, filepath.Join(cache, "python/sha256"), wheel.sum(), tc.left)
			built := e2e.Must(build(t, dir, language.Artifacts{Dir: cache}))(t)
			e2e.NoError(t, built.Images.Close())
			if got, want := strings.Join(asked, ","), strings.Join(tc.want, ","); got != want || len(asked) != len(tc.want) {
				t.Errorf("%s: the ranges of the requests are %q, want %q", tc.reason, asked, tc.want)
			}
		})
	}
}

// leave leaves a file for fsx.Resume.
func leave(t *testing.T, dir, key string, data []byte) {
	t.Helper()
	f := e2e.Must(fsx.Resume(dir, key))(t)
	e2e.Must(f.Write(data))(t)
	e2e.Must(f.Keep())(t)
}
