package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestKilledAnywhere: a registry that is killed at any moment of a push has only complete
// blobs, and the old or the new image at the tag. The next start removes unfinished
// uploads.
func TestKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills fifty processes")
	}
	dir := t.TempDir()
	host, stop := start(t, dir)
	old := image(t)
	whole := &fuse{}
	e2e.NoError(t, whole.push(t, host, old))
	stop()
	var fuses []*fuse
	for n := int64(1); n <= whole.requests.Load(); n++ {
		fuses = append(fuses, &fuse{afterRequests: n})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		fuses = append(fuses, &fuse{afterBytes: 1 + random.Int64N(whole.bytes.Load())})
	}
	for range 2 {
		for n := range 3 {
			fuses = append(fuses, &fuse{atFile: "uploads/*", more: n + 1}, &fuse{atFile: "blobs/sha256/*", more: n + 1})
		}
		for n := range 4 { // one line of the journal for each of three blobs and the manifest
			fuses = append(fuses, &fuse{atFile: journal, more: n + 1})
		}
	}
	moved := 0
	for _, f := range fuses {
		host, kill := child(t, dir)
		f.blow = kill
		img := image(t)
		over := f.watch(t, dir)
		err := f.push(t, host, img)
		kill()
		over()
		host, stop := start(t, dir)
		got := sound(t, dir, host)
		switch {
		case got == digest(t, img):
			old = img
			moved++
		case err == nil:
			t.Fatal("a push that was confirmed is lost")
		case got != digest(t, old):
			t.Fatalf("the tag has %s, which is neither the old image nor the new one", got)
		}
		stop()
	}
	if moved == 0 {
		t.Error("no push was killed after its last phase began: the fuse does not work")
	}
}

// sound checks each blob of the directory and the image of the tag, and returns
// the digest of the image.
func sound(t *testing.T, dir, host string) string {
	t.Helper()
	e2e.Empty(t, filepath.Join(dir, "uploads"))
	for _, path := range e2e.Glob(t, filepath.Join(dir, "blobs", "sha256", "*")) {
		content := e2e.Must(os.ReadFile(path))(t)
		e2e.Equal(t, "each blob has its digest", "sha256:"+filepath.Base(path), sum(string(content)))
	}
	img := e2e.Must(remote.Image(tag(t, host, "r:v1")))(t)
	e2e.NoError(t, validate.Image(img))
	return digest(t, img)
}

// A fuse kills the registry after a number of requests or bytes, or after a number of new
// files or new lines in the journal.
type fuse struct {
	afterRequests, afterBytes int64
	atFile                    string
	more                      int
	blow                      func()

	requests, bytes atomic.Int64
	once            sync.Once
}

func (f *fuse) push(t *testing.T, host string, img v1.Image) error {
	t.Helper()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return fused{conn, f}, err
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if f.requests.Add(1) == f.afterRequests {
				f.once.Do(f.blow)
			}
		},
	})
	never := func(error) bool { return false }
	return remote.Write(tag(t, host, "r:v1"), img, remote.WithContext(ctx), remote.WithTransport(transport),
		remote.WithRetryPredicate(never), remote.WithRetryStatusCodes(999))
}

// watch polls the files until over is called.
func (f *fuse) watch(t *testing.T, dir string) (over func()) {
	t.Helper()
	if f.atFile == "" {
		return func() {}
	}
	measure := func() (n int) {
		found, _ := filepath.Glob(filepath.Join(dir, f.atFile))
		if f.atFile != journal {
			return len(found)
		}
		content, _ := os.ReadFile(filepath.Join(dir, journal))
		return bytes.Count(content, []byte("\n"))
	}
	before := measure()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for measure() < before+f.more {
			select {
			case <-stop:
				return
			default:
			}
		}
		f.once.Do(f.blow)
	}()
	return func() {
		close(stop)
		<-ended
	}
}

const journal = "manifests.jsonl"

type fused struct {
	net.Conn
	fuse *fuse
}

// Write sends only the bytes up to the limit of the fuse.
func (c fused) Write(b []byte) (int, error) {
	sent := c.fuse.bytes.Add(int64(len(b)))
	over := sent - c.fuse.afterBytes
	if c.fuse.afterBytes == 0 || over < 0 || over > int64(len(b)) {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:int64(len(b))-over])
	c.fuse.once.Do(c.fuse.blow)
	return n, errors.Join(err, fmt.Errorf("the fuse stopped the write after %d bytes", c.fuse.afterBytes))
}
