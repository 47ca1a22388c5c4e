package push_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

// refersTo returns the referrers of a manifest, as clients find them.
func refersTo(t *testing.T, repo name.Repository, h v1.Hash) []string {
	t.Helper()
	idx := e2e.Must(ggcr.Referrers(repo.Digest(h.String())))(t)
	m := e2e.Must(idx.IndexManifest())(t)
	list := []string{}
	for _, d := range m.Manifests {
		list = append(list, d.Digest.String()+" "+d.ArtifactType)
	}
	slices.Sort(list)
	return list
}

// plain returns a registry without the referrers API.
func plain(testing.TB) http.Handler { return remotetest.Handler() }

func copyOptions() push.CopyOptions { return push.CopyOptions{Options: fast()} }

// Copy copies all attachments with and without the referrers API.
func TestCopy(t *testing.T) {
	kinds := map[string]func(testing.TB) http.Handler{"Listing": remotetest.Embedded, "Plain": plain}
	for from, src := range kinds {
		for to, dst := range kinds {
			t.Run(from+to, func(t *testing.T) {
				s := newShelf(t, remotetest.Serve(t, src(t)))
				s.fill(from == "Listing")
				target := e2e.Must(remote.ParseTag(remotetest.Serve(t, dst(t))+"/mirror/copied:v2", ""))(t)
				for range 2 {
					res := e2e.Must(push.Copy(t.Context(), s.repo.Tag("v1.0.0"), target, copyOptions()))(t)
					s.check(target.Context(), map[string]string{"v1.0.0": "v2"})
					for _, h := range s.at {
						e2e.Equal(t, fmt.Sprintf("the copy has the referrers of %s", h), refersTo(t, s.repo, h), refersTo(t, target.Context(), h))
					}
					if len(res.Attached) != 9 || res.Digest != s.at["v1.0.0"] || res.References[0] != target.Name() {
						t.Errorf("got %+v", res)
					}
					e2e.Equal(t, "the result has the platforms of nested indexes", []string{"linux/amd64", "windows/amd64:10.0"}, res.Platforms)
				}
			})
		}
	}
}

// The referrers list at the fallback tag keeps its other entries.
func TestCopyMergesLists(t *testing.T) {
	s := newShelf(t, remotetest.Serve(t, remotetest.Embedded(t)))
	s.fill(true)
	d := newShelf(t, remotetest.Serve(t, plain(t)))
	other := d.referrer(object{"mediaType": types.OCIImageIndex, "size": 1, "digest": s.at["v1.0.0"].String()}, "application/x-theirs")
	d.index(remote.FallbackTag(s.at["v1.0.0"]), object{}, other)
	e2e.NoError(t, e2e.Err(push.Copy(t.Context(), s.repo.Tag("v1.0.0"), d.repo.Tag("v1.0.0"), copyOptions())))
	theirs := fmt.Sprint(other["digest"], " application/x-theirs")
	want := append(refersTo(t, s.repo, s.at["v1.0.0"]), theirs)
	slices.Sort(want)
	e2e.Equal(t, "the list has the copied referrers and its old entry", want, refersTo(t, d.repo, s.at["v1.0.0"]))
}

func TestCopyOnlyWhatIsMissing(t *testing.T) {
	src, dst := remotetest.Record(remotetest.Embedded(t)), remotetest.Record(remotetest.Embedded(t))
	s := newShelf(t, remotetest.Serve(t, src))
	s.fill(true)
	target := parse(t, remotetest.Serve(t, dst))
	copied := func(to name.Tag, o push.CopyOptions) push.CopyResult {
		src.Clear()
		dst.Clear()
		return e2e.Must(push.Copy(t.Context(), s.repo.Tag("v1.0.0"), to, o))(t)
	}
	dry := copyOptions()
	dry.DryRun = true
	would := copied(target, dry)
	if n := len(dst.Find(remotetest.Writes)); n != 0 || would.Sent == 0 {
		t.Errorf("a dry run sends %d writes and plans %d bytes", n, would.Sent)
	}
	if got := copied(target, copyOptions()); got.Traffic != would.Traffic {
		t.Errorf("a dry run plans %+v, but the copy is %+v", would.Traffic, got.Traffic)
	}
	e2e.Equal(t, "the blobs that are downloaded", len(s.blobs), len(src.Find("^GET .*/blobs/")))
	again := copied(target, copyOptions())
	if n := len(dst.Find(remotetest.Writes)) + len(src.Find("^GET .*/blobs/")); n != 0 || again.Skipped != would.Sent {
		t.Errorf("a second copy sends %d writes or downloads, %+v", n, again.Traffic)
	}
	near := e2e.Must(remote.ParseTag(s.repo.RegistryStr()+"/other/place:v1", ""))(t)
	mounted := copied(near, copyOptions())
	if n := len(src.Find("^GET .*/blobs/")); n != 0 || mounted.Mounted != would.Sent || mounted.Sent != 0 {
		t.Errorf("a copy in one registry downloads %d blobs, %+v", n, mounted.Traffic)
	}
	bare := copyOptions()
	bare.NoSignatures = true
	res := copied(parse(t, remotetest.Serve(t, remotetest.Embedded(t))), bare)
	if n := len(src.Find(`^GET .*(\.sig|/referrers/)`)); n != 0 || len(res.Attached) != 0 {
		t.Errorf("without signatures: %d requests for signatures, and %q copied", n, res.Attached)
	}
}

// Copy resumes after a failure of the source or the destination.
func TestCopyResumes(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 4<<16) // 4 MiB
	cut := int64(len(content)/2 + 77)
	cases := map[string]struct {
		reason   string
		src, dst func(http.Handler) http.Handler
		want     []string // the Range headers of the requests
	}{
		"Whole":       {"a copy without failures reads a blob once", keep, keep, []string{""}},
		"Source":      {"a download resumes after the source fails", cutDown(cut), keep, []string{"", fmt.Sprintf("bytes=%d-%d", cut, len(content)-1)}},
		"Destination": {"an upload resumes after the destination fails", keep, cutUp(cut), []string{"", fmt.Sprintf("bytes=%d-%d", cut, len(content)-1)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := remotetest.Handler()
			s := newShelf(t, remotetest.Serve(t, inner))
			s.manifest("v1.0.0", object{
				"schemaVersion": 2, "mediaType": types.OCIManifestSchema1,
				"config": s.blob(string(types.OCIConfigJSON), "{}"), "layers": []object{s.blob(string(types.OCILayer), content)},
			})
			requests := remotetest.Record(tc.src(inner))
			from := parse(t, remotetest.Serve(t, requests))
			to := parse(t, remotetest.Serve(t, tc.dst(remotetest.Embedded(t))))
			e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, copyOptions())))
			s.check(to.Context(), nil)
			e2e.Equal(t, tc.reason+": the requests for the blob have the ranges", tc.want, requests.Ranges("^GET .*/blobs/"+digestOf(content)))
		})
	}
}

func keep(h http.Handler) http.Handler { return h }

// cutDown closes the connection after n bytes of a blob, unless the request has a range.
func cutDown(n int64) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") && r.Header.Get("Range") == "" {
				w = &cutWriter{w, n}
			}
			h.ServeHTTP(w, r)
		})
	}
}

type cutWriter struct {
	http.ResponseWriter
	left int64
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	panic(http.ErrAbortHandler)
}

// cutUp stores only the first n bytes of the first PATCH.
func cutUp(n int64) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return remotetest.Faults(h, 1, "^PATCH ", func(w http.ResponseWriter, r *http.Request) {
			part := r.Clone(r.Context())
			part.Body = io.NopCloser(io.LimitReader(r.Body, n))
			h.ServeHTTP(discardWriter{http.Header{}}, part)
			remotetest.Reset(w, r)
		})
	}
}

type discardWriter struct{ h http.Header }

func (d discardWriter) Header() http.Header       { return d.h }
func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (discardWriter) WriteHeader(int)             {}

// If a tag moves during a copy, the copied artifact stays the same.
func TestCopyOfWhatMoves(t *testing.T) {
	inner := remotetest.Embedded(t)
	s := newShelf(t, remotetest.Serve(t, inner))
	s.fill(true)
	want := s.at["v1.0.0"]
	var once sync.Once
	from := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			once.Do(func() { s.image("v1.0.0", "newer", object{}) })
		}
		inner.ServeHTTP(w, r)
	})))
	to := parse(t, remotetest.Serve(t, remotetest.Embedded(t)))
	res, err := push.Copy(t.Context(), from, to, copyOptions())
	if err != nil || res.Digest != want {
		t.Fatalf("got %s, %v, want %s", res.Digest, err, want)
	}
	if desc, err := ggcr.Get(to); err != nil || desc.Digest != want {
		t.Errorf("the tag is at %v (%v), want %s", desc, err, want)
	}
}

// Each registry receives only its own credentials.
func TestCopyCredentials(t *testing.T) {
	src, dst := remotetest.Embedded(t), remotetest.Embedded(t)
	s := newShelf(t, remotetest.Serve(t, src))
	s.fill(true)
	from := parse(t, remotetest.Serve(t, remotetest.BasicAuth(src, "from", "fr0m")))
	to := parse(t, remotetest.Serve(t, remotetest.BasicAuth(dst, "to", "t0")))
	o := copyOptions()
	o.Transport = remote.New(remote.Options{RetryWait: time.Millisecond, Keychain: keys{from.RegistryStr(): {"from", "fr0m"}, to.RegistryStr(): {"to", "t0"}}})
	e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, o)))
	s.check(newShelf(t, remotetest.Serve(t, dst)).repo, nil)
	o.Transport = remote.New(remote.Options{RetryWait: time.Millisecond, Keychain: keys{from.RegistryStr(): {"from", "fr0m"}}})
	_, err := push.Copy(t.Context(), from, to, o)
	e2e.ErrorHas(t, "the target does not get the credentials of the source", err, fmt.Sprintf("registry %q asks for credentials", to.RegistryStr()))
}

func TestCopyCancelled(t *testing.T) {
	inner := remotetest.Embedded(t)
	s := newShelf(t, remotetest.Serve(t, inner))
	s.fill(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, "/blobs/", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})))
	_, err := push.Copy(ctx, from, parse(t, remotetest.Serve(t, remotetest.Embedded(t))), copyOptions())
	if err == nil || ctx.Err() == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v, want the cancellation", err)
	}
}
