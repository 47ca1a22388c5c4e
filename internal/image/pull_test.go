package image_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// packages writes .xpkg files of one image and of an index of two images.
func packages(t *testing.T) map[string]string {
	t.Helper()
	var named []xpkg.Target
	for _, file := range []string{"a.xpkg", "b.xpkg"} {
		f := e2e.Open(xpkg.Open(t.Context(), filepath.Join("testdata/golden/multi-verbose/in", file)))(t)
		named = append(named, xpkg.Target{Path: file, Artifact: f.Artifact})
	}
	idx := e2e.Must(xpkg.Join(t.Context(), named))(t)
	files := map[string]string{}
	for name, a := range map[string]xpkg.Artifact{"Image": named[0].Artifact, "Index": idx} {
		files[name] = filepath.Join(t.TempDir(), "pushed.xpkg")
		e2e.NoError(t, xpkg.WriteFile(t.Context(), files[name], a, nil))
	}
	return files
}

// send pushes a file and returns its reference and digest.
func send(t *testing.T, host, file string) (name.Tag, v1.Hash) {
	t.Helper()
	f := e2e.Must(xpkg.Open(t.Context(), file))(t)
	defer func() { e2e.NoError(t, f.Close()) }()
	ref := parse(t, host)
	e2e.NoError(t, ggcr.Push(ref, f.Artifact))
	return ref, e2e.Must(f.Artifact.Digest())(t)
}

func parse(t testing.TB, host string) name.Tag {
	t.Helper()
	return e2e.Must(remote.ParseTag("gold/package:v1.0.0", host))(t)
}

// A pulled file has the pushed bytes, by tag and by digest.
func TestFile(t *testing.T) {
	for name, file := range packages(t) {
		t.Run(name, func(t *testing.T) {
			tag, digest := send(t, remotetest.Serve(t, remotetest.Handler()), file)
			want := e2e.Must(os.ReadFile(file))(t)
			byTag, byDigest := pulled(t, tag, digest), pulled(t, tag.Digest(digest.String()), digest)
			e2e.Equal(t, "the file is the same by tag", want, byTag)
			e2e.Equal(t, "the file is the same by digest", want, byDigest)
		})
	}
}

func pulled(t *testing.T, ref name.Reference, digest v1.Hash) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pulled.xpkg")
	var mu sync.Mutex
	var last progress.Event
	a := e2e.Must(image.File(t.Context(), ref, path, image.Options{Progress: func(e progress.Event) {
		mu.Lock()
		last = e
		mu.Unlock()
	}}))(t)
	e2e.Equal(t, "the pulled artifact has the digest of the pushed one", digest, e2e.Must(a.Digest())(t))
	if last.Total == 0 || last.Done != last.Total {
		t.Errorf("the last event is %+v", last)
	}
	return e2e.Must(os.ReadFile(path))(t)
}

// A tag that moves during a pull does not change the pulled artifact.
func TestArtifactStays(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Handler())
	files := packages(t)
	ref, digest := send(t, host, files["Index"])
	a := e2e.Must(image.Artifact(t.Context(), ref, image.Options{}))(t)
	send(t, host, files["Image"])
	idx, ok := a.(v1.ImageIndex)
	if !ok {
		t.Fatalf("an index came back as %T", a)
	}
	e2e.NoError(t, validate.Index(idx))
	e2e.Equal(t, "the artifact has the digest that the tag had first", digest, e2e.Must(idx.Digest())(t))
}

func TestErrors(t *testing.T) {
	file := packages(t)["Index"]
	const blob, manifest = "^GET .*/blobs/", "^GET .*/manifests/sha256:"
	cases := map[string]struct {
		reason string
		match  string
		fault  func(inner http.Handler) http.HandlerFunc
		err    string
	}{
		"FlippedBlob":     {"the digest of a blob is verified", blob, remotetest.Flipped, "sha256"},
		"FlippedManifest": {"the digest of a manifest is verified", manifest, remotetest.Flipped, "sha256"},
		"Cut":             {"a truncated blob is an error", blob, remotetest.Cut, "closed the connection early"},
		"Gone":            {"a missing blob is an error", blob, status(404), `lacks a blob of "gold/package:v1.0.0"`},
		"Down":            {"a failing registry is an error", blob, status(503), "answered 503"},
		"Reset":           {"a failing network is an error", blob, reset, "registry"},
		"ResetManifest":   {"an unreachable registry is an error", manifest, reset, "registry"},
		"Forbidden":       {"a missing permission is an error", blob, status(403), "denied access"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := remotetest.Handler()
			send(t, remotetest.Serve(t, inner), file)
			ref := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, tc.match, tc.fault(inner))))
			dir := t.TempDir()
			_, err := image.File(t.Context(), ref, filepath.Join(dir, "p.xpkg"), image.Options{Remote: remote.New(remote.Options{RetryWait: time.Millisecond})})
			if err == nil || !strings.HasPrefix(err.Error(), `pulling "`+ref.Name()+`": `) || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got error %v, want %q in it", tc.reason, err, tc.err)
			}
			e2e.Empty(t, dir)
		})
	}
}

func status(code int) func(http.Handler) http.HandlerFunc {
	return func(http.Handler) http.HandlerFunc { return remotetest.Status(code) }
}

func reset(http.Handler) http.HandlerFunc { return remotetest.Reset }

func TestNotThere(t *testing.T) {
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	e2e.ErrorHas(t, "a missing artifact is an error with its name", e2e.Err(image.Artifact(t.Context(), ref, image.Options{})), `has no "gold/package:v1.0.0"`)
}

type odd struct{ v1.Layer }

func (odd) RawManifest() ([]byte, error) { return []byte(`{}`), nil }

func TestNoImage(t *testing.T) {
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	e2e.NoError(t, ggcr.Put(ref, odd{static.NewLayer(nil, "application/odd")}))
	e2e.ErrorHas(t, "another media type is an error that has it", e2e.Err(image.Artifact(t.Context(), ref, image.Options{})), `neither an image nor an index, but "application/odd"`)
}

// A pulled artifact keeps Docker's media types.
func TestDockerTypes(t *testing.T) {
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	e2e.NoError(t, ggcr.Write(ref, e2e.Must(random.Image(100, 1))(t)))
	a := e2e.Must(image.Artifact(t.Context(), ref, image.Options{}))(t)
	e2e.Equal(t, "a pulled artifact keeps Docker's media type", types.DockerManifestSchema2, e2e.Must(a.MediaType())(t))
}

// Canceling ends a stalled download and leaves no file.
func TestCancelled(t *testing.T) {
	inner := remotetest.Handler()
	send(t, remotetest.Serve(t, inner), packages(t)["Image"])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ref := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, "/blobs/", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})))
	dir := t.TempDir()
	e2e.ErrorIs(t, "canceling ends a stalled download", e2e.Err(image.File(ctx, ref, filepath.Join(dir, "p.xpkg"), image.Options{})), context.Canceled)
	e2e.Empty(t, dir)
}
