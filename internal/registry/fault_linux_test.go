package registry_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// TestReadOnlyDisk: a directory that is not writable is refused at start.
func TestReadOnlyDisk(t *testing.T) {
	dir := e2e.Disk(t, "256k")
	_, stop := start(t, dir)
	stop()
	e2e.MakeReadOnly(t, dir)
	if _, err := registry.Open(dir); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want a refusal of %q", err, dir)
	}
}

// TestFullDisk: a full disk leaves no partial files and does not damage existing ones.
func TestFullDisk(t *testing.T) {
	dir := e2e.Disk(t, "256k")
	reg := e2e.Open(registry.Open(dir))(t)
	large, small := strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<10)
	uploads := "/v2/a/blobs/uploads/"
	full := func(reason, method, path, body string) {
		t.Helper()
		before := files(t, dir)
		w := send(reg, method, path, strings.NewReader(body))
		e2e.Equal(t, reason, http.StatusInsufficientStorage, w.Code)
		e2e.Equal(t, reason, "UNKNOWN", decode(w.Body.Bytes()))
		left := files(t, dir)
		if id := filepath.Base(path); len(id) == 36 {
			before = strings.Split(strings.Replace(strings.Join(before, "\n"), "\nuploads/"+id, "", 1), "\n")
		}
		e2e.Equal(t, reason, before, left)
	}
	done := func(reason, method, path, body string, want int) string {
		t.Helper()
		w := send(reg, method, path, strings.NewReader(body))
		if w.Code != want {
			t.Fatalf("%s: got %d %s", reason, w.Code, w.Body)
		}
		return w.Header().Get("Location")
	}
	full("a blob in one request", http.MethodPost, uploads+"?digest="+sum(large), large)
	full("a chunk", http.MethodPatch, done("an upload", http.MethodPost, uploads, "", http.StatusAccepted), large)
	done("a small blob", http.MethodPost, uploads+"?digest="+sum(small), small, http.StatusCreated)

	manifest := `{"mediaType":"x/y","pad":"` + strings.Repeat("x", 8<<10) + `"}`
	done("a manifest", http.MethodPut, "/v2/a/manifests/v1", manifest, http.StatusCreated)
	filler := filepath.Join(dir, "uploads", "filler")
	_ = os.WriteFile(filler, []byte(large), 0o600)
	full("a manifest", http.MethodPut, "/v2/a/manifests/v2", manifest)
	e2e.NoError(t, os.Remove(filler))
	done("the manifest, after space was freed", http.MethodPut, "/v2/a/manifests/v3", manifest, http.StatusCreated)
	done("the existing manifest", http.MethodGet, "/v2/a/manifests/v1", "", http.StatusOK)
	done("the manifest that did not fit", http.MethodGet, "/v2/a/manifests/v2", "", http.StatusNotFound)
}
