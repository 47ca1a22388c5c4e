package e2e_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A benchRegistry is a registry in another process: Debian's docker-registry or, if this
// machine does not have it, xfn's registry.
type benchRegistry struct {
	host, dir string
	// stop stops the registry of xfn. It is nil for Debian's.
	stop func()
}

func newBenchRegistry(b *testing.B) *benchRegistry {
	b.Helper()
	r := &benchRegistry{host: "127.0.0.1:0", dir: filepath.Join(b.TempDir(), "registry")}
	if remotetest.HasRegistry() {
		r.host = remotetest.Distribution{Dir: r.dir}.Start(b)
		return r
	}
	r.start(b)
	b.Cleanup(func() { r.stop() })
	return r
}

// start starts the registry of xfn at r.host, and waits until it listens.
func (r *benchRegistry) start(b *testing.B) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), e2e.Binary(b), "registry", "serve", "--address", r.host, "--dir", r.dir)
	out := e2e.Must(cmd.StdoutPipe())(b)
	e2e.NoError(b, cmd.Start())
	r.stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // It was killed, so its exit code does not matter.
	}
	line := e2e.Must(bufio.NewReader(out).ReadString('\n'))(b)
	r.host = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

// clear removes the content of the registry. The registry of xfn keeps a record of its
// content in memory, so it is restarted at the same address.
func (r *benchRegistry) clear(b *testing.B) {
	b.Helper()
	if r.stop != nil {
		r.stop()
		removeAll(b, r.dir)
		r.start(b)
		return
	}
	content := e2e.Must(filepath.Glob(filepath.Join(r.dir, "*")))(b)
	removeAll(b, content...)
}

// download writes a blob to w.
func (r *benchRegistry) download(ctx context.Context, blob v1.Descriptor, w io.Writer) error {
	resp, err := r.do(ctx, http.MethodGet, "http://"+r.host+"/v2/acme/bench/blobs/"+blob.Digest.String(), nil)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(onlyWriter{w}, resp.Body, make([]byte, 1<<20))
	return errors.Join(err, resp.Body.Close())
}

// hashed downloads a blob and computes its digest. If dir is not empty, it also writes the blob to a
// file in dir, and syncs the file.
func (r *benchRegistry) hashed(ctx context.Context, blob v1.Descriptor, dir string) error {
	if dir == "" {
		return r.download(ctx, blob, sha256.New())
	}
	f, err := os.Create(filepath.Join(dir, blob.Digest.Hex))
	if err != nil {
		return err
	}
	err = r.download(ctx, blob, io.MultiWriter(sha256.New(), f))
	return errors.Join(err, f.Sync(), f.Close())
}

// pipe downloads a blob and uploads it to another registry at the same time.
func (r *benchRegistry) pipe(ctx context.Context, to *benchRegistry, blob v1.Descriptor) error {
	pr, pw := io.Pipe()
	var g errgroup.Group
	g.Go(func() error {
		err := r.download(ctx, blob, pw)
		return errors.Join(err, pw.CloseWithError(err))
	})
	err := to.upload(ctx, pr, blob.Digest.String())
	return errors.Join(err, pr.CloseWithError(err), g.Wait())
}

// upload sends body as one blob, with chunked transfer encoding.
func (r *benchRegistry) upload(ctx context.Context, body io.Reader, digest string) error {
	location := "http://" + r.host + "/v2/acme/plain/blobs/uploads/"
	for _, request := range []struct {
		method string
		body   io.Reader
	}{{http.MethodPost, nil}, {http.MethodPatch, struct{ io.Reader }{body}}, {http.MethodPut, nil}} {
		if request.method == http.MethodPut {
			at, err := url.Parse(location)
			if err != nil {
				return err
			}
			query := at.Query()
			query.Set("digest", digest)
			at.RawQuery = query.Encode()
			location = at.String()
		}
		resp, err := r.do(ctx, request.method, location, request.body)
		if err != nil {
			return err
		}
		next, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		location = next.String()
	}
	return nil
}

// do makes a request, which must succeed. The caller closes the body of the response.
func (*benchRegistry) do(ctx context.Context, method, url string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = errors.Join(fmt.Errorf("%s %s: got %s", method, url, resp.Status), resp.Body.Close())
	}
	return resp, err
}
