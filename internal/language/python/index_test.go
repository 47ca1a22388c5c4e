package python_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

const (
	jsonType = "application/vnd.pypi.simple.v1+json; charset=utf-8"
	pageURL  = "https://index.example.org/simple/click/"
)

func TestParsePage(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	want := []resolve.File{{Name: "click-8.4.1-py3-none-any.whl", URL: "https://index.example.org/files/click-8.4.1-py3-none-any.whl", SHA256: sum}}
	cases := map[string]struct{ reason, mediaType, page string }{
		"HTML": {"a relative link has its digest in the fragment", "text/html", `<!DOCTYPE html><html><body>
			<a href="../../files/click-8.4.1-py3-none-any.whl#sha256=` + sum + `" data-requires-python="&gt;=3.10">click-8.4.1-py3-none-any.whl</a><br/>
			<a href="old.whl#md5=00">old.whl</a> <a>no link</a> <a href="%zz">broken</a>`},
		"JSON": {"a file has its digests in an object", jsonType, `{"meta": {"api-version": "1.1"}, "name": "click", "files": [
			{"filename": "click-8.4.1-py3-none-any.whl", "url": "/files/click-8.4.1-py3-none-any.whl", "hashes": {"sha256": "` + sum + `"}, "yanked": false},
			{"filename": "old.whl", "url": "old.whl", "hashes": {}}]}`},
	}
	at := e2e.Must(url.Parse(pageURL))(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, want, e2e.Must(python.ParsePage(at, tc.mediaType, []byte(tc.page)))(t))
		})
	}
	e2e.Error(t, "a page that is not JSON must be an error", e2e.Err(python.ParsePage(at, jsonType, []byte("<html>"))))
}

// FuzzParsePage parses foreign pages of an index.
func FuzzParsePage(f *testing.F) {
	f.Add("text/html", `<a href="a-1.whl#sha256=00">a</a>`)
	f.Add(jsonType, `{"files": [{"filename": "a", "url": "b", "hashes": {"sha256": "00"}}]}`)
	at := e2e.Must(url.Parse(pageURL))(f)
	f.Fuzz(func(t *testing.T, mediaType, page string) {
		all, _ := python.ParsePage(at, mediaType, []byte(page))
		for _, file := range all {
			if file.SHA256 == "" && !strings.Contains(page, "sha256=") {
				t.Errorf("file %q has no digest", file.Name)
			}
		}
	})
}
