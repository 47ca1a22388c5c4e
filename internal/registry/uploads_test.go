package registry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// TestFailedUpload: an upload that fails leaves no file, unless it can be resumed.
func TestFailedUpload(t *testing.T) {
	cases := map[string]struct {
		reason, method, query string
		body                  io.Reader
		status                int
		stays                 string
	}{
		"PostBroken":    {"a single request that breaks off leaves no file", "POST", "?digest=" + sum("x"), broken("x"), 400, ""},
		"PostBadDigest": {"an invalid digest in a single request leaves no file", "POST", "?digest=sha256:0", strings.NewReader("x"), 400, ""},
		"PostOther":     {"another digest in a single request leaves no file", "POST", "?digest=" + sum("y"), strings.NewReader("x"), 400, ""},
		"PatchBroken":   {"a PATCH that breaks off can be resumed", "PATCH", "", broken("x"), 400, "x"},
		"PutBroken":     {"a PUT that breaks off can be resumed", "PUT", "?digest=" + sum("x"), broken("x"), 400, "x"},
		"PutBadDigest":  {"an invalid digest in a PUT leaves no file", "PUT", "?digest=sha256:0", strings.NewReader("x"), 400, ""},
		"PutOther":      {"another digest in a PUT leaves no file", "PUT", "?digest=" + sum("y"), strings.NewReader("x"), 400, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			reg := e2e.Open(registry.Open(dir))(t)
			path := "/v2/a/blobs/uploads/"
			if tc.method != http.MethodPost {
				path = send(reg, http.MethodPost, path, nil).Header().Get("Location")
			}
			w := send(reg, tc.method, path+tc.query, tc.body)
			if w.Code != tc.status {
				t.Errorf("%s: got %d %s, want %d", tc.reason, w.Code, w.Body, tc.status)
			}
			if tc.stays == "" {
				e2e.Equal(t, tc.reason, []string{"registry.lock"}, files(t, dir))
				return
			}
			e2e.Equal(t, tc.reason, fmt.Sprintf("0-%d", len(tc.stays)-1), send(reg, http.MethodGet, path, nil).Header().Get("Range"))
			if w := send(reg, http.MethodPut, path+"?digest="+sum(tc.stays+"y"), strings.NewReader("y")); w.Code != http.StatusCreated {
				t.Errorf("%s: resuming returns %d %s", tc.reason, w.Code, w.Body)
			}
		})
	}
}

func send(h http.Handler, method, path string, body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, body))
	return w
}

// broken returns a body whose connection ends after its first bytes.
func broken(first string) io.Reader {
	return io.MultiReader(strings.NewReader(first), iotest.ErrReader(io.ErrUnexpectedEOF))
}

// TestOpenUploads: the number and idle time of open uploads are limited.
func TestOpenUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		reg := e2e.Open(registry.Open(dir))(t)
		begin := func() *httptest.ResponseRecorder {
			return send(reg, http.MethodPost, "/v2/a/blobs/uploads/", nil)
		}
		oldest := begin()
		time.Sleep(time.Second)
		first := begin()
		time.Sleep(time.Second)
		for n := 2; n <= 1000; n++ {
			if w := begin(); w.Code != http.StatusAccepted {
				t.Fatalf("after %d uploads: got %d %s", n, w.Code, w.Body)
			}
		}
		if w := send(reg, http.MethodGet, oldest.Header().Get("Location"), nil); w.Code != http.StatusNotFound {
			t.Fatalf("the oldest of 1001 uploads: got %d %s", w.Code, w.Body)
		}
		time.Sleep(59 * time.Minute)
		location := first.Header().Get("Location")
		if w := send(reg, http.MethodPatch, location, strings.NewReader("x")); w.Code != http.StatusAccepted {
			t.Fatalf("an upload that is not too old: got %d %s", w.Code, w.Body)
		}
		time.Sleep(time.Minute)
		if w := begin(); w.Code != http.StatusAccepted {
			t.Fatalf("after the others have expired: got %d %s", w.Code, w.Body)
		}
		e2e.Equal(t, "the directory has the lock, the upload that is in use, and the new one", 3, len(files(t, dir)))
		time.Sleep(time.Hour)
		if w := send(reg, http.MethodPatch, location, strings.NewReader("x")); w.Code != http.StatusNotFound {
			t.Errorf("an upload that is too old: got %d %s", w.Code, w.Body)
		}
		e2e.Equal(t, "the directory has only the lock", 1, len(files(t, dir)))
	})
}

// TestUploadsInUse: a further upload ends no upload that a request is using.
func TestUploadsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := e2e.Open(registry.Open(t.TempDir()))(t)
		begin := func() *httptest.ResponseRecorder {
			return send(reg, http.MethodPost, "/v2/a/blobs/uploads/", nil)
		}
		body, done := io.Pipe()
		for range 1000 {
			location := begin().Header().Get("Location")
			go send(reg, http.MethodPatch, location, body)
		}
		synctest.Wait()
		if w := begin(); w.Code != http.StatusTooManyRequests || decode(w.Body.Bytes()) != "TOOMANYREQUESTS" {
			t.Errorf("1000 uploads are in use: got %d %s", w.Code, w.Body)
		}
		e2e.NoError(t, done.Close())
		synctest.Wait()
		if w := begin(); w.Code != http.StatusAccepted {
			t.Errorf("no upload is in use: got %d %s", w.Code, w.Body)
		}
	})
}
