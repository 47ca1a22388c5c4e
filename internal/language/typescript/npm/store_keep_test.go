package npm_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

// Two processes that add one package at the same time both get it.
func TestGetTogether(t *testing.T) {
	data := tarball(t, manifest)
	server := serve(t, data)
	first := open(t, server, "")
	second := *first
	var wg sync.WaitGroup
	for _, s := range []*npm.Store{first, &second} {
		wg.Go(func() {
			all := []*npm.Package{packageOf(data), packageOf(data)}
			all[1].At = "node_modules/b/node_modules/a"
			got, err := s.Get(t.Context(), all, "", "")
			if err != nil || len(got) != 2 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
}

// Packages that were fetched stay in the store if another package cannot be fetched.
func TestGetKeeps(t *testing.T) {
	data, dir := tarball(t, manifest), ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/a/") {
			_, _ = w.Write(data)
			return
		}
		for r.Context().Err() == nil { // until the first package is unpacked
			if done, _ := filepath.Glob(filepath.Join(dir, "*", "*", "facts.json")); len(done) > 0 {
				break
			}
			runtime.Gosched()
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	s := open(t, server, "")
	dir = s.Dir
	missing := packageOf([]byte("b"))
	missing.At, missing.Name = "node_modules/b", "b"
	e2e.ErrorHas(t, "the package that the registry does not have is an error", e2e.Err(s.Get(t.Context(), []*npm.Package{packageOf(data), missing}, "", "")), "404")
	s.Offline = true
	e2e.NoError(t, e2e.Err(get(t, s, packageOf(data))))
}

func TestPrune(t *testing.T) {
	data := tarball(t, manifest)
	server := serve(t, data)
	s := open(t, server, "")
	cache, dir := npm.Cache(), t.TempDir()
	s.Dir = filepath.Join(dir, cache.Name)
	e2e.Equal(t, "a missing folder has no packages", language.Usage{}, e2e.Must(cache.Used(t.Context(), dir))(t))
	u := e2e.Must(get(t, s, packageOf(data)))(t)
	used, err := cache.Used(t.Context(), dir)
	if err != nil || used.Entries != 1 || used.Bytes == 0 {
		t.Errorf("got %v, %v", used, err)
	}
	past := time.Now().Add(-48 * time.Hour)
	e2e.NoError(t, os.Chtimes(filepath.Dir(u.Dir), past, past))
	if _, err := get(t, s, packageOf(data)); err != nil { // It marks the package as used.
		t.Fatal(err)
	}
	day := time.Now().Add(-24 * time.Hour)
	e2e.Equal(t, "a package in use is kept", language.Usage{}, e2e.Must(cache.Prune(t.Context(), dir, day, false))(t))
	e2e.NoError(t, os.Chtimes(filepath.Dir(u.Dir), past, past))
	for _, dry := range []bool{true, false} {
		got, err := cache.Prune(t.Context(), dir, day, dry)
		if diff := cmp.Diff(used, got); err != nil || diff != "" {
			t.Errorf("dry %t: %v\n%s", dry, err, diff)
		}
	}
	if _, err := os.Stat(u.Dir); !os.IsNotExist(err) {
		t.Errorf("the package still exists: %v", err)
	}
}
