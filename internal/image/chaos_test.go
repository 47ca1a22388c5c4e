package image_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// A large is a package with layers of more than 1 MiB. bytes is the content of its .xpkg
// file.
type large struct {
	image v1.Image
	bytes []byte
}

func newLarge(t *testing.T) large {
	t.Helper()
	f := e2e.Open(xpkg.Open(t.Context(), packages(t)["Image"]))(t)
	img, ok := f.Artifact.(v1.Image)
	if !ok {
		t.Fatalf("got %T, want an image", f.Artifact)
	}
	for range 3 {
		img = e2e.Must(mutate.AppendLayers(img, e2e.Must(random.Layer(5<<18, types.OCILayer))(t)))(t)
	}
	path := filepath.Join(t.TempDir(), "large.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, img, nil))
	data := e2e.Must(os.ReadFile(path))(t)
	// The layers of the file are compressed already. Layers of package random would be
	// compressed again whenever they are read.
	stored := e2e.Open(xpkg.Open(t.Context(), path))(t)
	if img, ok = stored.Artifact.(v1.Image); !ok {
		t.Fatalf("got %T, want an image", stored.Artifact)
	}
	return large{img, data}
}

type keychain struct{}

func (keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: "gold", Password: "s3cret"}, nil
}

// Whatever faults a registry and a network have, a pull writes the complete package, or
// returns an error and keeps the old file. The next pull succeeds.
func TestChaos(t *testing.T) {
	pkg, inner := newLarge(t), remotetest.Handler()
	e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), pkg.image))
	kinds := []string{"drop", "busy", "truncate", "short", "flip", "stall", "elsewhere", "whole"}
	remotetest.Seeds(t, kinds, func(t *testing.T, seed uint64) (map[string]int, error) {
		return chaos(t, seed, pkg, inner)
	})
}

// chaos pulls through a faulty proxy, and checks the result.
func chaos(t *testing.T, seed uint64, pkg large, inner http.Handler) (map[string]int, error) {
	t.Helper()
	storage := remotetest.Serve(t, remotetest.Stranger(t, inner))
	rate := []float64{0.05, 0.2, 0.4, 0.6}[seed%4]
	proxy := remotetest.NewDownloads(remotetest.BasicAuth(inner, "gold", "s3cret"), seed, rate, storage)
	ref := parse(t, remotetest.Serve(t, proxy))
	o := image.Options{Remote: remote.New(remote.Options{
		Keychain:    keychain{},
		Tries:       5,
		IdleTimeout: 300 * time.Millisecond,
		Sleep:       func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})}
	path := filepath.Join(t.TempDir(), "p.xpkg")
	old := []byte("the old package")
	e2e.NoError(t, os.WriteFile(path, old, 0o600))
	_, pullErr := image.File(t.Context(), ref, path, o)
	want := pkg.bytes
	if pullErr != nil {
		want = old
		checkClear(t, pullErr)
	}
	holds(t, path, want)
	// The next pull resumes or ignores the files that a failed pull left.
	e2e.Must(image.File(t.Context(), parse(t, remotetest.Serve(t, inner)), path, image.Options{}))(t)
	holds(t, path, pkg.bytes)
	return proxy.Done(), pullErr
}

func checkClear(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	known := strings.Contains(text, "registry ") || strings.Contains(text, "other content than its digest says")
	if strings.Contains(text, "\n") || strings.Contains(text, "s3cret") || !known {
		t.Errorf("unclear: %v", err)
	}
}

// holds checks that the file at path has the content want. Beside the file, only temporary
// files that a pull can resume may exist.
func holds(t *testing.T, path string, want []byte) {
	t.Helper()
	got := e2e.Must(os.ReadFile(path))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes, want %d", len(got), len(want))
	}
	for _, e := range e2e.Must(os.ReadDir(filepath.Dir(path)))(t) {
		if e.Name() != filepath.Base(path) && !fsx.IsTemporary(e.Name()) {
			t.Errorf("an unexpected file is left: %q", e.Name())
		}
	}
}

func needsKeeping(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no incomplete downloads")
	}
}

// asked is a registry that counts the bytes of blobs that it sends.
type asked struct {
	http.Handler
	mu    sync.Mutex
	bytes int64
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/blobs/") {
		w = &countWriter{w, a}
	}
	a.Handler.ServeHTTP(w, r)
}

type countWriter struct {
	http.ResponseWriter
	to *asked
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.bytes += int64(n)
	return n, err
}

// stopping pulls from a registry that calls stop after n bytes of a layer.
func stopping(t *testing.T, ctx context.Context, inner http.Handler, layer v1.Layer, n int64, stop func(), path string) error {
	t.Helper()
	digest := digestOf(t, layer).String()
	ref := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, digest) {
			w = &stopWriter{ResponseWriter: w, left: n, stop: stop}
		}
		inner.ServeHTTP(w, r)
	})))
	_, err := image.File(ctx, ref, path, image.Options{Remote: remote.New(remote.Options{Tries: 1})})
	return err
}

type stopWriter struct {
	http.ResponseWriter
	left int64
	stop func()
}

func (s *stopWriter) Write(p []byte) (int, error) {
	if int64(len(p)) <= s.left {
		s.left -= int64(len(p))
		return s.ResponseWriter.Write(p)
	}
	_, _ = s.ResponseWriter.Write(p[:s.left])
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	s.stop()
	panic(http.ErrAbortHandler)
}

// An interrupted pull is resumed, unless its file was changed.
func TestGoesOn(t *testing.T) {
	needsKeeping(t)
	pkg := newLarge(t)
	layers := e2e.Must(pkg.image.Layers())(t)
	last := layers[len(layers)-1]
	size := e2e.Must(last.Size())(t)
	const half = 600 << 10
	cases := map[string]struct {
		reason string
		change func(t *testing.T, left string)
		// most is the maximum number of bytes of blobs that the resumed pull may fetch.
		most int64
	}{
		"Whole":   {"all downloaded bytes are used", func(*testing.T, string) {}, size - half + 4<<10},
		"Shorter": {"a truncated file is resumed where it ends", func(t *testing.T, left string) { e2e.NoError(t, os.Truncate(left, 2<<20)) }, int64(len(pkg.bytes)) - 2<<20 + 4<<10},
		"Spoilt": {"a wrong blob is fetched again, with all that follow", func(t *testing.T, left string) {
			f := e2e.Must(os.OpenFile(left, os.O_RDWR, 0))(t)
			e2e.Must(f.WriteAt([]byte("spoilt"), 2<<20))(t)
			e2e.NoError(t, f.Close())
		}, int64(len(pkg.bytes)) - 5<<18},
		"Rubbish": {"a file that is not an archive is ignored", func(t *testing.T, left string) { e2e.NoError(t, os.WriteFile(left, []byte("rubbish"), 0o600)) }, int64(len(pkg.bytes))},
		"Longer":  {"a file that is too long is ignored", func(t *testing.T, left string) { e2e.NoError(t, os.Truncate(left, 100<<20)) }, int64(len(pkg.bytes))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := remotetest.Handler()
			e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), pkg.image))
			path := filepath.Join(t.TempDir(), "p.xpkg")
			err := stopping(t, t.Context(), inner, last, half, func() {}, path)
			if err == nil || !strings.Contains(string(hint.Of(err)), "it continues after the first") {
				t.Fatalf("got %v, hint %q", err, hint.Of(err))
			}
			left := e2e.Must(os.ReadDir(filepath.Dir(path)))(t)
			if len(left) != 1 {
				t.Fatalf("left: %v", left)
			}
			tc.change(t, filepath.Join(filepath.Dir(path), left[0].Name()))
			counted := &asked{Handler: inner}
			e2e.Must(image.File(t.Context(), parse(t, remotetest.Serve(t, counted)), path, image.Options{}))(t)
			holds(t, path, pkg.bytes)
			if counted.bytes > tc.most {
				t.Errorf("%s: %d bytes were fetched, want at most %d", tc.reason, counted.bytes, tc.most)
			}
			if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
				t.Errorf("%s: left: %v, %v", tc.reason, left, err)
			}
		})
	}
}

// An interrupt keeps the downloaded bytes.
func TestInterrupted(t *testing.T) {
	needsKeeping(t)
	pkg, inner := newLarge(t), remotetest.Handler()
	e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), pkg.image))
	layers, err := pkg.image.Layers()
	e2e.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := filepath.Join(t.TempDir(), "p.xpkg")
	err = stopping(t, ctx, inner, layers[len(layers)-1], 1000, cancel, path)
	e2e.ErrorIs(t, "an interrupt is the cause of the error", err, context.Canceled)
	e2e.Has(t, "the hint says how to resume the download", string(hint.Of(err)), "run the command again")
	counted := &asked{Handler: inner}
	e2e.Must(image.File(t.Context(), parse(t, remotetest.Serve(t, counted)), path, image.Options{}))(t)
	holds(t, path, pkg.bytes)
	if counted.bytes > 5<<18+4<<10 {
		t.Errorf("%d bytes were fetched, want the bytes of one layer", counted.bytes)
	}
}

// A layer that is corrupted once is fetched again. A layer that is always
// corrupted is not kept.
func TestFlippedLayer(t *testing.T) {
	pkg := newLarge(t)
	layers := e2e.Must(pkg.image.Layers())(t)
	last := "/blobs/" + digestOf(t, layers[len(layers)-1]).String()
	for reason, n := range map[string]int{"once": 1, "always": 99} {
		inner := remotetest.Handler()
		e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), pkg.image))
		counted := &asked{Handler: remotetest.Faults(inner, n, last+"$", remotetest.Flipped(inner))}
		path := filepath.Join(t.TempDir(), "p.xpkg")
		e2e.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		_, err := image.File(t.Context(), parse(t, remotetest.Serve(t, counted)), path, quick())
		if n == 1 {
			e2e.NoError(t, err)
			holds(t, path, pkg.bytes)
			if most := int64(len(pkg.bytes)) + 5<<18 + 4<<10; counted.bytes > most {
				t.Errorf("%s: %d bytes were fetched, want one layer twice, %d", reason, counted.bytes, most)
			}
			continue
		}
		e2e.ErrorHas(t, reason, err, "other content than its digest says")
		holds(t, path, []byte("old"))
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
			t.Errorf("%s: left: %v, %v", reason, left, err)
		}
	}
}
