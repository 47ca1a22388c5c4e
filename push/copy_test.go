package push_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/registry"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

type object = map[string]any

// A shelf is what a test puts into a registry by hand.
type shelf struct {
	t     *testing.T
	repo  name.Repository
	blobs []string // digests
	// at are the digests of the manifests, by what they are put at.
	at map[string]v1.Hash
}

func newShelf(t *testing.T, host string) *shelf {
	return &shelf{t: t, repo: parse(t, host).Context(), at: map[string]v1.Hash{}}
}

func descriptor(mediaType, content string) object {
	return object{"mediaType": mediaType, "size": len(content), "digest": digestOf(content)}
}

func digestOf(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

// blob puts a blob, and returns its descriptor.
func (s *shelf) blob(mediaType, content string) object {
	s.t.Helper()
	put(s.t, http.MethodPost, s.repo, "blobs/uploads/?digest="+digestOf(content), "application/octet-stream", content)
	s.blobs = append(s.blobs, digestOf(content))
	return descriptor(mediaType, content)
}

// manifest puts a manifest at a tag, or at its digest, and returns its descriptor.
func (s *shelf) manifest(tag string, o object) object {
	s.t.Helper()
	raw, err := json.MarshalIndent(o, "", " ") // Nobody else has these bytes.
	if err != nil {
		s.t.Fatal(err)
	}
	mediaType := fmt.Sprint(o["mediaType"])
	at := tag
	if at == "" {
		at = digestOf(string(raw))
	}
	put(s.t, http.MethodPut, s.repo, "manifests/"+at, mediaType, string(raw))
	h, err := v1.NewHash(digestOf(string(raw)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.at[at], s.at[h.String()] = h, h
	return descriptor(mediaType, string(raw))
}

func put(t *testing.T, method string, repo name.Repository, path, mediaType, body string) {
	t.Helper()
	url := "http://" + repo.RegistryStr() + "/v2/" + repo.RepositoryStr() + "/" + path
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
}

// with returns o with more in it.
func with(o object, more object) object {
	o = maps.Clone(o)
	maps.Copy(o, more)
	return o
}

func (s *shelf) image(tag, what string, more object) object {
	s.t.Helper()
	return s.manifest(tag, with(object{
		"schemaVersion": 2, "mediaType": types.OCIManifestSchema1,
		"config": s.blob(string(types.OCIConfigJSON), `{"for":"`+what+`"}`),
		"layers": []object{s.blob(string(types.OCILayer), "layer of "+what), s.blob("application/x-strange", "strange "+what)},
	}, more))
}

func (s *shelf) index(tag string, more object, children ...object) object {
	s.t.Helper()
	return s.manifest(tag, with(object{"schemaVersion": 2, "mediaType": types.OCIImageIndex, "manifests": children}, more))
}

func (s *shelf) cosign(subject object, suffix string) object {
	s.t.Helper()
	digest, _ := subject["digest"].(string)
	tag := strings.Replace(digest, ":", "-", 1) + suffix
	return s.image(tag, tag, object{})
}

func (s *shelf) referrer(subject object, artifactType string) object {
	s.t.Helper()
	d := s.image("", fmt.Sprint(artifactType, " of ", subject["digest"]), object{"subject": subject, "artifactType": artifactType})
	return with(d, object{"artifactType": artifactType})
}

// fill puts an artifact with all that can be attached to it at v1.0.0. If the
// registry does not list referrers, a list is put.
func (s *shelf) fill(listed bool) {
	s.t.Helper()
	amd := with(s.image("", "amd64", object{}), object{"platform": object{"os": "linux", "architecture": "amd64"}})
	docker := s.manifest("", object{
		"schemaVersion": 2, "mediaType": types.DockerManifestSchema2,
		"config": s.blob(string(types.DockerConfigJSON), `{"for":"docker"}`),
		"layers": []object{
			s.blob(string(types.DockerLayer), "docker layer"),
			with(descriptor(string(types.DockerForeignLayer), "elsewhere"), object{"urls": []string{"https://example.org/layer"}}),
		},
	})
	nested := s.index("", object{}, with(docker, object{"platform": object{"os": "windows", "architecture": "amd64", "os.version": "10.0"}}))
	attestation := with(s.image("", "attestation", object{"artifactType": "application/x-attestation"}),
		object{"platform": object{"os": "unknown", "architecture": "unknown"}})
	root := s.index("v1.0.0", object{"annotations": object{"a": "b"}, "x-later": 12345678901234567}, amd, nested, attestation)
	sig := s.cosign(root, ".sig")
	s.cosign(root, ".att")
	sbom := s.cosign(amd, ".sbom")
	s.cosign(sbom, ".sig")
	s.cosign(docker, ".sig")
	lists := map[string][]object{}
	refer := func(subject object, artifactType string) object {
		d := s.referrer(subject, artifactType)
		digest, _ := subject["digest"].(string)
		lists[digest] = append(lists[digest], d)
		return d
	}
	first := refer(root, "application/x-notes")
	refer(root, "application/x-more-notes")
	refer(first, "application/x-signature")
	refer(sig, "application/x-time")
	if listed {
		return
	}
	for digest, list := range lists {
		put := maps.Clone(s.at)
		s.index(strings.Replace(digest, ":", "-", 1), object{}, list...)
		s.at = put // The list is no part of it.
	}
}

// check makes sure that all is at another registry, and the same.
func (s *shelf) check(repo name.Repository, rename map[string]string) {
	s.t.Helper()
	for at, h := range s.at {
		if to, ok := rename[at]; ok {
			at = to
		}
		ref := name.Reference(repo.Tag(at))
		if strings.Contains(at, ":") {
			ref = repo.Digest(at)
		}
		desc, err := ggcr.Get(ref)
		if err != nil {
			s.t.Errorf("%s is not there: %v", at, err)
			continue
		}
		original, err := ggcr.Get(s.repo.Digest(h.String()))
		if err != nil {
			s.t.Fatal(err)
		}
		if desc.Digest != h || desc.MediaType != original.MediaType || !bytes.Equal(desc.Manifest, original.Manifest) {
			s.t.Errorf("at %s is %s, want %s", at, desc.Digest, h)
		}
	}
	for _, h := range s.blobs {
		l, err := ggcr.Layer(repo.Digest(h))
		if err == nil {
			var rc io.ReadCloser
			if rc, err = l.Compressed(); err == nil {
				_, err = io.Copy(io.Discard, rc)
				_ = rc.Close()
			}
		}
		if err != nil {
			s.t.Errorf("blob %s: %v", h, err)
		}
	}
}

// refersTo are the referrers of a manifest, as clients find them.
func refersTo(t *testing.T, repo name.Repository, h v1.Hash) []string {
	t.Helper()
	idx, err := ggcr.Referrers(repo.Digest(h.String()))
	if err != nil {
		t.Fatal(err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, d := range m.Manifests {
		list = append(list, d.Digest.String()+" "+d.ArtifactType)
	}
	slices.Sort(list)
	return list
}

// listing is a registry that lists referrers.
func listing(t *testing.T) http.Handler {
	t.Helper()
	r, err := registry.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// plain is one that does not.
func plain(*testing.T) http.Handler { return remotetest.Handler() }

func copyOptions() push.CopyOptions { return push.CopyOptions{Options: fast()} }

// Everything is copied, whatever the registries know of referrers.
func TestCopy(t *testing.T) {
	kinds := map[string]func(*testing.T) http.Handler{"Listing": listing, "Plain": plain}
	for from, src := range kinds {
		for to, dst := range kinds {
			t.Run(from+to, func(t *testing.T) {
				s := newShelf(t, remotetest.Serve(t, src(t)))
				s.fill(from == "Listing")
				target, err := remote.ParseTag(remotetest.Serve(t, dst(t))+"/mirror/copied:v2", "")
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					res, err := push.Copy(t.Context(), s.repo.Tag("v1.0.0"), target, copyOptions())
					if err != nil {
						t.Fatal(err)
					}
					s.check(target.Context(), map[string]string{"v1.0.0": "v2"})
					for _, h := range s.at {
						if diff := cmp.Diff(refersTo(t, s.repo, h), refersTo(t, target.Context(), h)); diff != "" {
							t.Errorf("referrers of %s (-there +here):\n%s", h, diff)
						}
					}
					if len(res.Attached) != 9 || res.Digest != s.at["v1.0.0"] || res.References[0] != target.Name() {
						t.Errorf("got %+v", res)
					}
					if want := []string{"linux/amd64", "windows/amd64:10.0"}; !slices.Equal(res.Platforms, want) {
						t.Errorf("got platforms %q, want %q", res.Platforms, want)
					}
				}
			})
		}
	}
}

// A list at the fallback tag keeps what others have put there.
func TestCopyMergesLists(t *testing.T) {
	s := newShelf(t, remotetest.Serve(t, listing(t)))
	s.fill(true)
	d := newShelf(t, remotetest.Serve(t, plain(t)))
	other := d.referrer(object{"mediaType": types.OCIImageIndex, "size": 1, "digest": s.at["v1.0.0"].String()}, "application/x-theirs")
	d.index(remote.FallbackTag(s.at["v1.0.0"]), object{}, other)
	if _, err := push.Copy(t.Context(), s.repo.Tag("v1.0.0"), d.repo.Tag("v1.0.0"), copyOptions()); err != nil {
		t.Fatal(err)
	}
	theirs := fmt.Sprint(other["digest"], " application/x-theirs")
	want := append(refersTo(t, s.repo, s.at["v1.0.0"]), theirs)
	slices.Sort(want)
	if diff := cmp.Diff(want, refersTo(t, d.repo, s.at["v1.0.0"])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A recorder keeps what was asked of h.
type recorder struct {
	h  http.Handler
	mu sync.Mutex
	// asked are requests without their queries, and received how many bytes
	// each had.
	asked    []string
	received int64
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, req.Method+" "+req.URL.Path)
	r.received += max(req.ContentLength, 0)
	r.mu.Unlock()
	r.h.ServeHTTP(w, req)
}

func (r *recorder) count(start, part string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.asked {
		if strings.HasPrefix(a, start) && strings.Contains(a, part) {
			n++
		}
	}
	return n
}

func TestCopyOnlyWhatIsMissing(t *testing.T) {
	src, dst := &recorder{h: listing(t)}, &recorder{h: listing(t)}
	s := newShelf(t, remotetest.Serve(t, src))
	s.fill(true)
	target := parse(t, remotetest.Serve(t, dst))
	copied := func(to name.Tag, o push.CopyOptions) push.CopyResult {
		src.asked, dst.asked = nil, nil
		res, err := push.Copy(t.Context(), s.repo.Tag("v1.0.0"), to, o)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	dry := copyOptions()
	dry.DryRun = true
	would := copied(target, dry)
	if n := dst.count("P", ""); n != 0 || would.Sent == 0 {
		t.Errorf("a dry run: %d requests change something, %d bytes would be sent", n, would.Sent)
	}
	if got := copied(target, copyOptions()); got.Traffic != would.Traffic {
		t.Errorf("a dry run says %+v, and then it is %+v", would.Traffic, got.Traffic)
	}
	if n := src.count("GET", "/blobs/"); n != len(s.blobs) {
		t.Errorf("%d blobs are read, want %d", n, len(s.blobs))
	}
	again := copied(target, copyOptions())
	if n := dst.count("P", "") + src.count("GET", "/blobs/"); n != 0 || again.Skipped != would.Sent {
		t.Errorf("copying again: %d requests for more than looking, %+v", n, again.Traffic)
	}
	near, err := remote.ParseTag(s.repo.RegistryStr()+"/other/place:v1", "")
	if err != nil {
		t.Fatal(err)
	}
	mounted := copied(near, copyOptions())
	if n := src.count("GET", "/blobs/"); n != 0 || mounted.Mounted != would.Sent || mounted.Sent != 0 {
		t.Errorf("in one registry: %d blobs are read, %+v", n, mounted.Traffic)
	}
	bare := copyOptions()
	bare.NoSignatures = true
	res := copied(parse(t, remotetest.Serve(t, listing(t))), bare)
	if n := src.count("GET", ".sig") + src.count("GET", "/referrers/"); n != 0 || len(res.Attached) != 0 {
		t.Errorf("without signatures: they were asked for %d times, and %q copied", n, res.Attached)
	}
}

// What breaks on either side goes on where it was.
func TestCopyResumes(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 4<<16) // 4 MiB
	cut := int64(len(content)/2 + 77)
	cases := map[string]struct {
		reason   string
		src, dst func(http.Handler) http.Handler
		want     []string // Range
	}{
		"Whole":       {"nothing breaks", keep, keep, []string{""}},
		"Source":      {"the source breaks off", cutDown(cut), keep, []string{"", fmt.Sprintf("bytes=%d-%d", cut, len(content)-1)}},
		"Destination": {"the destination breaks off", keep, cutUp(cut), []string{"", fmt.Sprintf("bytes=%d-%d", cut, len(content)-1)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := remotetest.Handler()
			s := newShelf(t, remotetest.Serve(t, inner))
			s.manifest("v1.0.0", object{
				"schemaVersion": 2, "mediaType": types.OCIManifestSchema1,
				"config": s.blob(string(types.OCIConfigJSON), "{}"), "layers": []object{s.blob(string(types.OCILayer), content)},
			})
			var ranges []string
			from := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/blobs/"+digestOf(content)) {
					ranges = append(ranges, r.Header.Get("Range"))
				}
				tc.src(inner).ServeHTTP(w, r)
			})))
			to := parse(t, remotetest.Serve(t, tc.dst(remotetest.NewSessions(remotetest.Handler()))))
			if _, err := push.Copy(t.Context(), from, to, copyOptions()); err != nil {
				t.Fatal(err)
			}
			s.check(to.Context(), nil)
			if !slices.Equal(ranges, tc.want) {
				t.Errorf("%s: the blob is asked for by ranges %q, want %q", tc.reason, ranges, tc.want)
			}
		})
	}
}

func keep(h http.Handler) http.Handler { return h }

// cutDown breaks answers with blobs off that are not asked for from the middle.
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

// cutUp keeps only so much of the first PATCH.
func cutUp(n int64) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return remotetest.Faults(h, 1, remotetest.Method(http.MethodPatch), func(w http.ResponseWriter, r *http.Request) {
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

// A tag that moves meanwhile does not change what is copied.
func TestCopyOfWhatMoves(t *testing.T) {
	inner := listing(t)
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
	to := parse(t, remotetest.Serve(t, listing(t)))
	res, err := push.Copy(t.Context(), from, to, copyOptions())
	if err != nil || res.Digest != want {
		t.Fatalf("got %s, %v, want %s", res.Digest, err, want)
	}
	if desc, err := ggcr.Get(to); err != nil || desc.Digest != want {
		t.Errorf("at the tag is %v (%v), want %s", desc, err, want)
	}
}

// Credentials go to the registry that they are of.
func TestCopyCredentials(t *testing.T) {
	src, dst := listing(t), listing(t)
	s := newShelf(t, remotetest.Serve(t, src))
	s.fill(true)
	from := parse(t, remotetest.Serve(t, remotetest.BasicAuth(src, "from", "fr0m")))
	to := parse(t, remotetest.Serve(t, remotetest.BasicAuth(dst, "to", "t0")))
	o := copyOptions()
	o.Remote = remote.New(remote.Options{RetryWait: time.Millisecond, Keychain: keys{from.RegistryStr(): {"from", "fr0m"}, to.RegistryStr(): {"to", "t0"}}})
	if _, err := push.Copy(t.Context(), from, to, o); err != nil {
		t.Fatal(err)
	}
	s.check(newShelf(t, remotetest.Serve(t, dst)).repo, nil)
	o.Remote = remote.New(remote.Options{RetryWait: time.Millisecond, Keychain: keys{from.RegistryStr(): {"from", "fr0m"}}})
	_, err := push.Copy(t.Context(), from, to, o)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("registry %q asks for credentials", to.RegistryStr())) {
		t.Errorf("got %v", err)
	}
}

func TestCopyCancelled(t *testing.T) {
	inner := listing(t)
	s := newShelf(t, remotetest.Serve(t, inner))
	s.fill(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			cancel()
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	})))
	_, err := push.Copy(ctx, from, parse(t, remotetest.Serve(t, listing(t))), copyOptions())
	if err == nil || ctx.Err() == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v, want the cancellation", err)
	}
}
