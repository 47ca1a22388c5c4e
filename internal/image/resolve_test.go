package image_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A reference is resolved by the registry, and offline by the cache.
func TestResolve(t *testing.T) {
	g := &gate{Handler: remotetest.Handler()}
	host := remotetest.Serve(t, g)
	index, one := mustRef(t, host+"/a/index:v1"), mustRef(t, host+"/a/image:v1")
	idx, img := indexFor(t, "linux/arm64", "linux/amd64", "linux/arm/v7", "linux/amd64"), imageFor(t, "linux/arm64")
	e2e.NoError(t, errors.Join(ggcr.WriteIndex(index, idx), ggcr.Write(one, img)))
	store := openStore(t, t.TempDir())
	want := map[name.Reference]image.Resolved{
		index: {Digest: digestOf(t, idx), Platforms: []string{"linux/amd64", "linux/arm/v7", "linux/arm64"}},
		one:   {Digest: digestOf(t, img), Platforms: []string{"linux/arm64"}},
		one.Context().Digest(digestOf(t, img).String()): {Digest: digestOf(t, img), Platforms: []string{"linux/arm64"}},
	}
	for ref, want := range want {
		got := e2e.Must(store.Resolve(t.Context(), ref, quick()))(t)
		e2e.Equal(t, ref.String()+" has its digest and platforms", want, got)
	}
	if _, err := store.Resolve(t.Context(), index, offline()); err == nil || !strings.Contains(string(hint.Of(err)), "once without {offline}") || !strings.Contains(err.Error(), index.Name()) {
		t.Errorf("a tag that was never pulled: got %v", err)
	}
	e2e.Must(store.Image(t.Context(), on(index, "linux/arm64", t), quick()))(t)
	g.closed.Store(true)
	asked := g.asked.Load()
	e2e.Equal(t, "a cached tag is resolved offline", want[index], e2e.Must(store.Resolve(t.Context(), index, offline()))(t))
	e2e.Equal(t, "no registry is asked offline", asked, g.asked.Load())
}

func TestResolveRefuses(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Handler())
	store := openStore(t, t.TempDir())
	absent := mustRef(t, host+"/a/b:v1")
	e2e.ErrorHas(t, "a missing tag is an error with its name", e2e.Err(store.Resolve(t.Context(), absent, quick())), `has no "a/b:v1"`)
	e2e.ErrorHas(t, "a registry that does not listen is an error", e2e.Err(store.Resolve(t.Context(), mustRef(t, remotetest.Nobody+"/a/b:v1"), quick())), "cannot be reached")
}

// A pinned reference is pulled by its digest, from the cache if possible,
// whatever the policy. A reference that cannot be pinned is not pulled.
func TestPin(t *testing.T) {
	g := &gate{Handler: remotetest.Handler()}
	tag := parse(t, remotetest.Serve(t, g))
	before, after := imageFor(t, "linux/amd64"), imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(tag, before))
	e2e.NoError(t, ggcr.Write(tag, after))
	pinned := quick()
	pinned.Pin = func(ref name.Reference) (name.Reference, error) {
		if ref.Name() != tag.Name() {
			return nil, fmt.Errorf("%s is not pinned", ref)
		}
		return tag.Digest(digestOf(t, before).String()), nil
	}
	dir := t.TempDir()
	for _, policy := range []image.Policy{image.IfNotPresent, image.Always, image.Never} {
		r := on(tag, "linux/amd64", t)
		r.Policy = policy
		same(t, e2e.Must(openStore(t, dir).Image(t.Context(), r, pinned))(t), before)
		g.closed.Store(true) // The first request fetched all blobs, so the others need no registry.
	}
	g.closed.Store(false)
	a, err := image.Artifact(t.Context(), tag, pinned)
	e2e.NoError(t, err)
	e2e.Equal(t, "the current digest of the tag was pulled", digestOf(t, before), digestOf(t, a))
	other := mustRef(t, tag.Context().Name()+":other")
	_, err = openStore(t, dir).Image(t.Context(), on(other, "linux/amd64", t), pinned)
	_, inRegistry := image.Artifact(t.Context(), other, pinned)
	for _, err := range []error{err, inRegistry} {
		e2e.Equal(t, "a reference that cannot be pinned is not pulled", other.Name()+" is not pinned", fmt.Sprint(err))
	}
}

func TestTags(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Handler())
	repo := mustRef(t, host+"/a/b:v1").Context()
	tags := image.Tags{Remote: quick().Remote}
	img := imageFor(t, "linux/"+runtime.GOARCH)
	for _, tag := range []string{"v1", "v2"} {
		e2e.NoError(t, ggcr.Write(repo.Tag(tag), img))
	}
	e2e.Equal(t, "List returns the tags of the repository", []string{"v1", "v2"}, e2e.Must(tags.List(t.Context(), repo))(t))
	for tag, want := range map[string]bool{"v1": true, "v3": false} {
		e2e.Equal(t, "only v1 and v2 are in the registry: "+tag, want, e2e.Must(tags.Has(t.Context(), repo.Tag(tag)))(t))
	}
	store := openStore(t, t.TempDir())
	e2e.Must(store.Image(t.Context(), image.Request{Reference: repo.Tag("v2")}, quick()))(t)
	cached := image.CachedTags{Store: store}
	if all, err := cached.List(t.Context(), repo.Registry.Repo("other")); err == nil || !strings.Contains(err.Error(), "is in the cache") {
		t.Errorf("another repository: got %q, %v", all, err)
	}
	e2e.Equal(t, "only tags in the cache are listed", []string{"v2"}, e2e.Must(cached.List(t.Context(), repo))(t))
	for tag, want := range map[string]bool{"v1": false, "v2": true} {
		e2e.Equal(t, "only v2 is in the cache: "+tag, want, e2e.Must(cached.Has(t.Context(), repo.Tag(tag)))(t))
	}
}

// A mirror has the images, and the cache keeps them under their own references.
func TestRewrite(t *testing.T) {
	mirror := mustRef(t, remotetest.Serve(t, remotetest.Handler())+"/mirror/fn:v2")
	img := imageFor(t, "linux/"+runtime.GOARCH)
	e2e.NoError(t, ggcr.Write(mirror, img))
	o := quick()
	o.Rewrite = func(s string) string {
		if rest, ok := strings.CutPrefix(s, "docker.io/acme/"); ok {
			return mirror.Context().RegistryStr() + "/mirror/" + rest
		}
		return s
	}
	ref := mustRef(t, "docker.io/acme/fn:v2")
	tags := image.Tags{Remote: o.Remote, Rewrite: o.Rewrite}
	e2e.Equal(t, "List asks the mirror", []string{"v2"}, e2e.Must(tags.List(t.Context(), ref.Context()))(t))
	e2e.Equal(t, "Has asks the mirror", true, e2e.Must(tags.Has(t.Context(), ref.Context().Tag("v2")))(t))
	e2e.Equal(t, "the image comes from the mirror", digestOf(t, img), digestOf(t, e2e.Must(image.Artifact(t.Context(), ref, o))(t)))
	store := openStore(t, t.TempDir())
	e2e.Must(store.Image(t.Context(), image.Request{Reference: ref}, o))(t)
	for _, o := range []image.Options{o, offline()} {
		e2e.Equal(t, "the image is cached under its own reference", digestOf(t, img), e2e.Must(store.Resolve(t.Context(), ref, o))(t).Digest)
	}
}

// All pages of tags are read, up to a limit.
func TestTagsPages(t *testing.T) {
	var pages int
	page := func(w http.ResponseWriter, r *http.Request, tags string) {
		pages++
		w.Header().Set("Link", fmt.Sprintf(`</v2/a/b/tags/list?n=1000&last=%d>; rel="next"`, pages))
		fmt.Fprintf(w, `{"name": "a/b", "tags": [%s]}`, tags)
	}
	many := strings.TrimSuffix(strings.Repeat(`"v1",`, 1000), ",")
	cases := map[string]struct {
		reason string
		answer http.HandlerFunc
		want   int
		err    string
	}{
		"Endless": {"an endless list is an error", func(w http.ResponseWriter, r *http.Request) { page(w, r, many) }, 0, "the repository has more than 100000 tags"},
		"Pages":   {"an endless list of pages with the same tag is an error", func(w http.ResponseWriter, r *http.Request) { page(w, r, `"v1"`) }, 0, "the registry's list of tags has more than 2000 pages"},
		"Long": {"names that no tag can have are not kept", func(w http.ResponseWriter, r *http.Request) {
			page(w, r, map[bool]string{true: many + `,"` + strings.Repeat("v", 129) + `"`}[pages < 2])
		}, 2000, ""},
		"Empty":   {"an empty page is the last", func(w http.ResponseWriter, r *http.Request) { page(w, r, map[bool]string{true: many}[pages < 2]) }, 2000, ""},
		"Refused": {"a missing permission is an error", remotetest.Status(http.StatusForbidden), 0, "denied access"},
	}
	tags := image.Tags{Remote: remote.New(remote.Options{RetryWait: time.Millisecond})}
	e2e.ErrorHas(t, "a registry that does not listen is an error", e2e.Err(tags.Has(t.Context(), mustRef(t, remotetest.Nobody+"/a/b:v1").Context().Tag("v1"))), "cannot be reached")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pages = 0
			host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/tags/list") {
					return // the request to /v2/ that a client sends first
				}
				tc.answer(w, r)
			}))
			all, err := tags.List(t.Context(), mustRef(t, host+"/a/b:v1").Context())
			if len(all) != tc.want || (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), host+"/a/b")) {
				t.Errorf("%s: got %d tags, %v", tc.reason, len(all), err)
			}
		})
	}
}
