package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A benchRegistry is a registry in another process: Debian's docker-registry or, if this
// machine has none, that of xfn.
type benchRegistry struct {
	host, dir string
}

func newBenchRegistry(b *testing.B) benchRegistry {
	b.Helper()
	r := benchRegistry{dir: filepath.Join(b.TempDir(), "registry")}
	if remotetest.HasRegistry() {
		r.host = remotetest.Distribution{Dir: r.dir}.Start(b)
		return r
	}
	cmd := exec.CommandContext(b.Context(), e2e.Binary(b), "registry", "serve", "--address", "127.0.0.1:0", "--dir", r.dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	r.host = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return r
}

// clear removes all files of the registry, but no folder: the registry of xfn creates its
// folders only when it starts.
func (r benchRegistry) clear(b *testing.B) {
	b.Helper()
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Remove(path)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
}

// download writes a blob to w.
func (r benchRegistry) download(b *testing.B, blob v1.Descriptor, w io.Writer) {
	b.Helper()
	resp := r.do(b, http.MethodGet, "http://"+r.host+"/v2/acme/bench/blobs/"+blob.Digest.String(), nil)
	defer resp.Body.Close()
	if _, err := io.CopyBuffer(onlyWriter{w}, resp.Body, make([]byte, 1<<20)); err != nil {
		b.Fatal(err)
	}
}

// pipe downloads a blob and uploads it to another registry at the same time.
func (r benchRegistry) pipe(b *testing.B, to benchRegistry, blob v1.Descriptor) {
	b.Helper()
	resp := r.do(b, http.MethodGet, "http://"+r.host+"/v2/acme/bench/blobs/"+blob.Digest.String(), nil)
	defer resp.Body.Close()
	to.upload(b, resp.Body, blob.Digest.String())
}

func (r benchRegistry) uploadFile(b *testing.B, file, digest string) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r.upload(b, f, digest)
}

// upload sends body as one blob, with chunked transfer encoding.
func (r benchRegistry) upload(b *testing.B, body io.Reader, digest string) {
	b.Helper()
	next := func(method, url string, body io.Reader) string {
		resp := r.do(b, method, url, body)
		_ = resp.Body.Close()
		at, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
		if err != nil {
			b.Fatal(err)
		}
		return at.String()
	}
	begun := next(http.MethodPost, "http://"+r.host+"/v2/acme/plain/blobs/uploads/", nil)
	sent := next(http.MethodPatch, begun, onlyReader{body})
	join := "?"
	if strings.Contains(sent, "?") {
		join = "&"
	}
	next(http.MethodPut, sent+join+"digest="+digest, nil)
}

// An onlyReader hides the size of a file, so that net/http sends it with chunked
// transfer encoding.
type onlyReader struct{ io.Reader }

// do makes a request, which must succeed. The caller closes the body of the response.
func (benchRegistry) do(b *testing.B, method, url string, body io.Reader) *http.Response {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, url, body)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("got %s", resp.Status)
	}
	if err != nil {
		b.Fatalf("%s %s: %v", method, url, err)
	}
	return resp
}
