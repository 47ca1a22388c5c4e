package registry_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// TestConcurrentClients: clients push the same blob and move the same tag while others read
// and delete. Each response follows the spec, and content is complete.
func TestConcurrentClients(t *testing.T) {
	dir := t.TempDir()
	host, stop := start(t, dir)
	contents := []string{plain, second, unborn}
	v := visit{host: host, repository: "r"}
	for _, s := range parts {
		v.send(t, s)
	}
	big := strings.Repeat("0123456789", 1<<14)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			own := visit{host: host, repository: "r"}
			for n := range 3 {
				for _, s := range blob(big) {
					own.send(t, s)
				}
				if got := download(t, "http://"+host+"/v2/r/blobs/"+sum(big)); got != big {
					t.Errorf("a blob of %d bytes came back, want %d", len(got), len(big))
				}
				own.send(t, put("moving", imageType, contents[(i+n)%3]))
				own.send(t, put(fmt.Sprintf("v%d", i), imageType, contents[n%3]))
				own.send(t, get(fmt.Sprintf("/v2/r/manifests/v%d", i), 200, "", fields{"body": is(contents[n%3])}))
				own.send(t, get("/v2/r/tags/list?n=3", 200, "", nil))
				own.send(t, step{method: "DELETE", path: fmt.Sprintf("/v2/r/manifests/v%d", i), status: 202})
				own.send(t, get("/v2/r/manifests/moving", 200, "", fields{"body": is(contents[0]) + "|" + is(contents[1]) + "|" + is(contents[2])}))
			}
		})
	}
	e2e.Wait(t, &wg)
	before := heads(t, host)
	e2e.Equal(t, "only one tag is left", 1, len(before))
	stop()
	e2e.Equal(t, "the directory has the lock, the journal and three blobs", 5, len(files(t, dir)))
	host, _ = start(t, dir)
	e2e.Equal(t, "a restart does not change the tags", before, heads(t, host))
}

func download(t *testing.T, url string) string {
	resp, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	e2e.WantError(t, "reading "+url, err, "")
	return string(body)
}

// TestUploadIsBusy: one of two concurrent requests to an upload is refused.
func TestUploadIsBusy(t *testing.T) {
	reg := e2e.Open(registry.Open(t.TempDir()))(t)
	location := send(reg, http.MethodPost, "/v2/a/blobs/uploads/", nil).Header().Get("Location")
	reading, goOn := make(chan struct{}), make(chan struct{})
	first := make(chan int)
	go func() {
		first <- send(reg, http.MethodPatch, location, readerFunc(func([]byte) (int, error) {
			close(reading)
			<-goOn
			return 0, http.ErrBodyReadAfterClose
		})).Code
	}()
	e2e.Receive(t, reading)
	for _, method := range []string{http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodGet} {
		if w := send(reg, method, location, nil); w.Code != http.StatusConflict || decode(w.Body.Bytes()) != "BLOB_UPLOAD_INVALID" {
			t.Errorf("%s: got %d %s", method, w.Code, w.Body)
		}
	}
	close(goOn)
	e2e.Equal(t, "the first request is rejected", http.StatusBadRequest, e2e.Receive(t, first))
	if w := send(reg, http.MethodGet, location, nil); w.Code != http.StatusNoContent {
		t.Errorf("afterwards: got %d %s", w.Code, w.Body)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestErrorsNameNoPath: the response to a disk error does not contain local paths.
func TestErrorsNameNoPath(t *testing.T) {
	dir := t.TempDir()
	reg := e2e.Open(registry.Open(dir))(t)
	e2e.NoError(t, os.RemoveAll(filepath.Join(dir, "uploads")))
	w := send(reg, http.MethodPost, "/v2/a/blobs/uploads/", nil)
	if w.Code != http.StatusInternalServerError || decode(w.Body.Bytes()) != "UNKNOWN" || strings.Contains(w.Body.String(), dir) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestDamagedDir: a directory with unexpected parts is refused at start.
func TestDamagedDir(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, dir)
	stop()
	for _, part := range []string{"registry.lock", "uploads", "blobs/sha256", "manifests.jsonl"} {
		t.Run(part, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dir")
			e2e.NoError(t, os.CopyFS(path, os.DirFS(dir)))
			in := filepath.Join(path, part)
			e2e.NoError(t, os.RemoveAll(in))
			if part == "registry.lock" || part == "manifests.jsonl" {
				e2e.NoError(t, os.Mkdir(in, 0o755))
			} else {
				e2e.NoError(t, os.WriteFile(in, nil, 0o600))
			}
			e2e.ErrorHas(t, "the error names the file", e2e.Err(registry.Open(path)), path)
		})
	}
}
