package image_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func openStore(t testing.TB, dir string) *image.Store {
	t.Helper()
	return e2e.Open(image.Open(dir))(t)
}

// imageFor returns an image of two random layers for a platform.
func imageFor(t testing.TB, platform string) v1.Image {
	t.Helper()
	return withPlatform(t, e2e.Must(random.Image(1<<16, 2))(t), platform)
}

func withPlatform(t testing.TB, img v1.Image, platform string) v1.Image {
	t.Helper()
	c := e2e.Must(img.ConfigFile())(t)
	p := parsePlatform(t, platform)
	c.OS, c.Architecture, c.Variant = p.OS, p.Architecture, p.Variant
	img = e2e.Must(mutate.ConfigFile(img, c))(t)
	return img
}

func parsePlatform(t testing.TB, s string) v1.Platform {
	t.Helper()
	return *e2e.Must(v1.ParsePlatform(s))(t)
}

// indexFor returns an index of an image for each platform.
func indexFor(t testing.TB, platforms ...string) v1.ImageIndex {
	t.Helper()
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, s := range platforms {
		p := parsePlatform(t, s)
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: imageFor(t, s), Descriptor: v1.Descriptor{Platform: &p}})
	}
	return idx
}

func digestOf(t testing.TB, d interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	return e2e.Must(d.Digest())(t)
}

// same checks that got equals want and is readable.
func same(t testing.TB, got, want v1.Image) {
	t.Helper()
	e2e.NoError(t, validate.Image(got))
	if g, w := digestOf(t, got), digestOf(t, want); g != w {
		t.Errorf("got image %s, want %s", g, w)
	}
}

// quick returns options with short retries.
func quick() image.Options {
	return image.Options{Remote: remote.New(remote.Options{RetryWait: time.Millisecond})}
}

func offline() image.Options { return image.Options{Offline: true} }

func on(ref name.Reference, platform string, t testing.TB) image.Request {
	return image.Request{Reference: ref, Platform: parsePlatform(t, platform)}
}

// gate is a handler that can be closed.
type gate struct {
	http.Handler
	closed atomic.Bool
	asked  atomic.Int64
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.asked.Add(1)
	if g.closed.Load() {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	g.Handler.ServeHTTP(w, r)
}

// An image is fetched once, and then read from the cache.
func TestImage(t *testing.T) {
	g := &gate{Handler: remotetest.Handler()}
	tag := parse(t, remotetest.Serve(t, g))
	idx := indexFor(t, "linux/amd64", "linux/arm64")
	e2e.NoError(t, ggcr.Push(tag, idx))
	want := e2e.Must(idx.Image(e2e.Must(idx.IndexManifest())(t).Manifests[1].Digest))(t)
	for what, ref := range map[string]name.Reference{
		"a tag":              tag,
		"an index's digest":  tag.Digest(digestOf(t, idx).String()),
		"an image's digest":  tag.Digest(digestOf(t, want).String()),
		"a tag and a digest": mustRef(t, tag.Name()+"@"+digestOf(t, idx).String()),
	} {
		t.Run(what, func(t *testing.T) {
			g.closed.Store(false)
			dir := t.TempDir()
			img := e2e.Must(openStore(t, dir).Image(t.Context(), on(ref, "linux/arm64", t), quick()))(t)
			same(t, img, want)

			g.closed.Store(true)
			asked := g.asked.Load()
			for _, p := range []image.Policy{"", image.IfNotPresent, image.Never} {
				r := on(ref, "linux/arm64", t)
				r.Policy = p
				same(t, e2e.Must(openStore(t, dir).Image(t.Context(), r, quick()))(t), want)
			}
			r := on(ref, "linux/arm64", t)
			r.Policy = image.Always
			img = e2e.Must(openStore(t, dir).Image(t.Context(), r, offline()))(t)
			same(t, img, want)
			e2e.Equal(t, "a cached image needs no requests", int64(0), g.asked.Load()-asked)
			if _, err := openStore(t, dir).Image(t.Context(), r, quick()); err == nil || !strings.HasPrefix(err.Error(), `pulling "`+ref.Name()+`": `) {
				t.Errorf("Always, and the registry is gone: got %v", err)
			}
		})
	}
}

func mustRef(t testing.TB, s string) name.Reference {
	t.Helper()
	return e2e.Must(remote.ParseReference(s, ""))(t)
}

// The image of a tag can be read by its digest.
func TestDigestOfATag(t *testing.T) {
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	img := imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(tag, img))
	s := openStore(t, t.TempDir())
	e2e.Must(s.Image(t.Context(), on(tag, "linux/amd64", t), quick()))(t)
	same(t, e2e.Must(s.Image(t.Context(), on(tag.Digest(digestOf(t, img).String()), "linux/amd64", t), offline()))(t), img)
	e2e.Equal(t, "the tag and its digest are references of the cache", 2, len(e2e.Must(s.Info(t.Context()))(t).Refs))
}

// A cached tag keeps its digest until the registry is asked.
func TestTagMoves(t *testing.T) {
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	before, after := imageFor(t, "linux/amd64"), imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(tag, before))
	s := openStore(t, t.TempDir())
	r := on(tag, "linux/amd64", t)
	for _, step := range []struct {
		policy image.Policy
		want   v1.Image
	}{{image.IfNotPresent, before}, {image.IfNotPresent, before}, {image.Always, after}, {image.IfNotPresent, after}} {
		r.Policy = step.policy
		same(t, e2e.Must(s.Image(t.Context(), r, quick()))(t), step.want)
		e2e.NoError(t, ggcr.Write(tag, after))
	}
}

// The registry is asked for a platform that a cached tag does not have.
func TestTagGetsAPlatform(t *testing.T) {
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	e2e.NoError(t, ggcr.Push(tag, indexFor(t, "linux/amd64")))
	s := openStore(t, t.TempDir())
	e2e.Must(s.Image(t.Context(), on(tag, "linux/amd64", t), quick()))(t)
	e2e.NoError(t, ggcr.Push(tag, indexFor(t, "linux/amd64", "linux/arm64")))
	e2e.ErrorHas(t, "a cached tag without the platform is an error offline", e2e.Err(s.Image(t.Context(), on(tag, "linux/arm64", t), offline())), "only for linux/amd64")
	e2e.Must(s.Image(t.Context(), on(tag, "linux/arm64", t), quick()))(t)
}

// A MissingError names all missing images, and nothing is fetched.
func TestMissing(t *testing.T) {
	g := &gate{Handler: remotetest.Handler()}
	host := remotetest.Serve(t, g)
	dir := t.TempDir()
	ref := func(s string) name.Reference { return mustRef(t, host+"/"+s) }
	there, partly := ref("there:v1"), ref("partly:v1")
	e2e.NoError(t, ggcr.Write(there.(name.Tag), imageFor(t, "linux/amd64")))
	half := imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(partly.(name.Tag), half))
	for _, r := range []name.Reference{there, partly} {
		e2e.Must(openStore(t, dir).Image(t.Context(), on(r, "linux/amd64", t), quick()))(t)
	}
	layers, err := half.Layers()
	e2e.NoError(t, err)
	size := e2e.Must(layers[0].Size())(t)
	e2e.NoError(t, os.Remove(blobFile(dir, digestOf(t, layers[0]))))
	asked := g.asked.Load()

	never := on(ref("never:v1"), "linux/arm64", t)
	never.Policy, never.Position = image.Never, "functions.yaml:5"
	requests := []image.Request{
		on(there, "linux/amd64", t), on(ref("absent:v1"), "linux/amd64", t), on(partly, "linux/amd64", t),
		on(ref("absent@"+zeros), "linux/amd64", t), never,
	}
	_, err = openStore(t, dir).Images(t.Context(), requests, offline())
	want := fmt.Sprintf(`4 images are not in the cache, and must not be fetched:
  "%[1]s/absent:v1" for linux/amd64
  "%[1]s/partly:v1" for linux/amd64 (%[2]s, %[3]d bytes)
  "%[1]s/absent@%[4]s" for linux/amd64
  "%[1]s/never:v1" for linux/arm64 (pull policy Never, at functions.yaml:5)`, host, digestOf(t, half), size, zeros)
	if err == nil || err.Error() != want || hint.Of(err) != "run the command once without "+hint.Offline {
		t.Errorf("got %v (hint: %s), want %s", err, hint.Of(err), want)
	}
	var me *image.MissingError
	if !errors.As(err, &me) || len(me.Images) != 4 || me.Images[1].Bytes != size {
		t.Errorf("got %+v", me)
	}

	_, err = openStore(t, dir).Images(t.Context(), []image.Request{on(there, "linux/amd64", t), never}, quick())
	want = fmt.Sprintf(`image "%s/never:v1" for linux/arm64 (pull policy Never, at functions.yaml:5) is not in the cache, and must not be fetched`, host)
	e2e.Equal(t, "a pull policy applies to a single image with its position", want, fmt.Sprint(err))
	e2e.Has(t, "the hint names the pull policy that fetches", string(hint.Of(err)), "IfNotPresent")
	e2e.Equal(t, "missing images are reported without requests", int64(0), g.asked.Load()-asked)
	// Missing blobs are fetched by digest: the tag is not resolved again.
	e2e.Must(openStore(t, dir).Image(t.Context(), requests[2], quick()))(t)
}

func blobFile(dir string, h v1.Hash) string { return filepath.Join(dir, "blobs", "sha256", h.Hex) }

// Shared blobs are fetched once, and progress is reported for all images together.
func TestShared(t *testing.T) {
	served := remotetest.Record(remotetest.Handler())
	host := remotetest.Serve(t, served)
	base := imageFor(t, "linux/amd64")
	var requests []image.Request
	for _, repo := range []string{"a", "b", "c"} {
		img := e2e.Must(mutate.AppendLayers(base, e2e.Must(random.Layer(1000, types.OCILayer))(t)))(t)
		ref := mustRef(t, host+"/"+repo+":v1")
		e2e.NoError(t, ggcr.Write(ref, img))
		requests = append(requests, on(ref, "linux/amd64", t))
	}
	var mu sync.Mutex
	var last progress.Event
	o := quick()
	o.Progress = func(e progress.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Done == e.Total {
			last = e
		}
	}
	s := openStore(t, t.TempDir())
	images := e2e.Must(s.Images(t.Context(), requests, o))(t)
	gets := map[string]int{}
	for _, get := range served.Find("^GET .*/blobs/") {
		gets[path.Base(get)]++
	}
	if len(images) != 3 || len(gets) != 8 {
		t.Errorf("got %d images after %d requests for blobs, want 3 and 8", len(images), len(gets))
	}
	for digest, n := range gets {
		e2e.Equal(t, fmt.Sprintf("blob %s is fetched once", digest), 1, n)
	}
	if last.Text != "pulling 3 images" || last.Total == 0 {
		t.Errorf("the last event is %+v", last)
	}
}

func TestParsePolicy(t *testing.T) {
	for in, want := range map[string]image.Policy{"": image.IfNotPresent, "Always": image.Always, "Never": image.Never, "IfNotPresent": image.IfNotPresent} {
		e2e.Equal(t, fmt.Sprintf("%q is a pull policy", in), want, e2e.Must(image.ParsePolicy(in))(t))
	}
	e2e.ErrorHas(t, "names of pull policies are case-sensitive", e2e.Err(image.ParsePolicy("always")), `"always"`)
}
