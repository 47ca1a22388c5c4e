package image_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A registry that fails repeatedly or returns false content causes an error, and nothing of
// the layer and the tag is stored.
func TestImageErrors(t *testing.T) {
	img := imageFor(t, "linux/amd64")
	layers := e2e.Must(img.Layers())(t)
	ofLayer := "^GET .*/blobs/" + digestOf(t, layers[1]).String()
	const ofManifest = "^GET .*/manifests/"
	longer := func(inner http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(noLength{w}, r)
			_, _ = w.Write(make([]byte, 100))
		}
	}
	cases := map[string]struct {
		reason string
		match  string
		n      int
		fault  func(inner http.Handler) http.HandlerFunc
		err    string
	}{
		"CutOnce":   {"a connection that breaks once is resumed", ofLayer, 1, remotetest.Cut, ""},
		"CutAlways": {"a connection that always breaks is an error", ofLayer, 99, remotetest.Cut, "closed the connection early"},
		"Busy":      {"a busy registry is asked again", ofLayer, 2, status(503), ""},
		"Flipped":   {"a layer with a wrong digest is an error", ofLayer, 99, remotetest.Flipped, "other content than its digest says"},
		"Longer":    {"a layer that does not end is an error", ofLayer, 99, longer, "longer than the"},
		"Gone":      {"a missing layer is an error", ofLayer, 99, status(404), "lacks a blob"},
		"Denied":    {"a manifest without permission is an error", ofManifest, 99, status(403), "denied access"},
		"Reset":     {"a failing network is an error", ofManifest, 99, reset, "registry"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := remotetest.Handler()
			e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), img))
			ref := parse(t, remotetest.Serve(t, remotetest.Faults(inner, tc.n, tc.match, tc.fault(inner))))
			dir := t.TempDir()
			s := openStore(t, dir)
			got, err := s.Image(t.Context(), on(ref, "linux/amd64", t), quick())
			if tc.err == "" {
				e2e.NoError(t, err)
				same(t, got, img)
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), `pulling "`+ref.Name()+`": `) || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
			e2e.ErrorIs(t, tc.reason+": the blob of the layer exists", e2e.Err(os.Stat(blobFile(dir, digestOf(t, layers[1])))), fs.ErrNotExist)
			e2e.Equal(t, tc.reason, 0, len(e2e.Must(s.Info(t.Context()))(t).Refs))
		})
	}
}

type noLength struct{ http.ResponseWriter }

func (n noLength) WriteHeader(code int) {
	n.Header().Del("Content-Length")
	n.ResponseWriter.WriteHeader(code)
}

// A failed pull keeps the previous image of a tag.
func TestFailedPullKeepsTheOld(t *testing.T) {
	inner := remotetest.Handler()
	var broken atomic.Bool
	tag := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, "/blobs/", func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		inner.ServeHTTP(w, r)
	})))
	old := imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(tag, old))
	s := openStore(t, t.TempDir())
	r := on(tag, "linux/amd64", t)
	e2e.Must(s.Image(t.Context(), r, quick()))(t)
	e2e.NoError(t, ggcr.Write(tag, imageFor(t, "linux/amd64")))
	broken.Store(true)
	always := r
	always.Policy = image.Always
	e2e.Error(t, "the image was returned without its blobs", e2e.Err(s.Image(t.Context(), always, quick())))
	same(t, e2e.Must(s.Image(t.Context(), r, offline()))(t), old)
}

// only is a keychain that returns the same login for every registry.
type only struct{ authn.Authenticator }

func (o only) Resolve(authn.Resource) (authn.Authenticator, error) { return o, nil }

// A redirect is followed without credentials.
func TestRedirect(t *testing.T) {
	inner := remotetest.Handler()
	img := imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), img))
	redirected := remotetest.Record(remotetest.Stranger(t, inner))
	storage := remotetest.Serve(t, redirected)
	registry := remotetest.Faults(inner, 99, "/blobs/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+storage+r.URL.Path, http.StatusTemporaryRedirect)
	})
	host := remotetest.Serve(t, remotetest.BasicAuth(registry, "gold", "s3cret"))
	login := &authn.Basic{Username: "gold", Password: "s3cret"}
	options := image.Options{Remote: remote.New(remote.Options{Keychain: only{login}})}
	same(t, e2e.Must(openStore(t, t.TempDir()).Image(t.Context(), on(parse(t, host), "linux/amd64", t), options))(t), img)
	if len(redirected.Find("")) == 0 {
		t.Error("no request was redirected")
	}
}

// Reading a layer that was damaged in the cache is an error. The next pull
// fetches it again.
func TestDamagedLayer(t *testing.T) {
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	img := imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(tag, img))
	dir := t.TempDir()
	s, r := openStore(t, dir), on(tag, "linux/amd64", t)
	got, err := s.Image(t.Context(), r, quick())
	e2e.NoError(t, err)
	layers := e2e.Must(got.Layers())(t)
	file := blobFile(dir, digestOf(t, layers[0]))
	data := e2e.Must(os.ReadFile(file))(t)
	data[len(data)/2] ^= 1
	e2e.NoError(t, os.WriteFile(file, data, 0o600))
	rc := e2e.Must(layers[0].Compressed())(t)
	_, err = io.Copy(io.Discard, rc)
	e2e.NoError(t, rc.Close())
	e2e.ErrorHas(t, "reading the damaged layer is an error", err, "damaged")
	got = e2e.Must(s.Image(t.Context(), r, quick()))(t)
	same(t, got, img)
	// The digest of a cached manifest is verified each time the manifest is read.
	e2e.NoError(t, os.WriteFile(blobFile(dir, digestOf(t, img)), bytes.Repeat([]byte("x"), 100), 0o600))
	if _, err := s.Image(t.Context(), r, offline()); !errors.As(err, new(*image.MissingError)) {
		t.Errorf("a damaged manifest: got %v", err)
	}
	e2e.Must(s.Image(t.Context(), r, quick()))(t)
}

// The bytes before a broken connection are not fetched again.
func TestResume(t *testing.T) {
	inner := remotetest.Handler()
	img := imageFor(t, "linux/amd64")
	ofLayer := "^GET .*/blobs/" + digestOf(t, e2e.Must(img.Layers())(t)[0]).String()
	requests := remotetest.Record(remotetest.Faults(inner, 1, ofLayer, remotetest.Cut(inner)))
	tag := parse(t, remotetest.Serve(t, requests))
	e2e.NoError(t, ggcr.Write(tag, img))
	same(t, e2e.Must(openStore(t, t.TempDir()).Image(t.Context(), on(tag, "linux/amd64", t), quick()))(t), img)
	if asked := requests.Ranges(ofLayer); len(asked) != 2 || asked[0] != "" || !strings.HasPrefix(asked[1], "bytes=") {
		t.Errorf("the layer was requested with ranges %q, want none and then the rest", asked)
	}
}
