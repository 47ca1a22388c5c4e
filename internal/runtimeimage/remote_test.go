package runtimeimage_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

func client() *remote.Client {
	return remote.New(remote.Options{Keychain: authn.NewMultiKeychain(), RetryWait: time.Millisecond})
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	return e2e.Must(remote.ParseReference(text, ""))(t)
}

// FromRemote does not change the digests of an image or an index. It pulls by tag and by
// digest, from the embedded registry and from Docker's.
func TestFromRemote(t *testing.T) {
	servers := map[string]func(*testing.T) string{
		"Embedded": func(t *testing.T) string { return remotetest.Serve(t, remotetest.Embedded(t)) },
		"Real":     func(t *testing.T) string { return remotetest.Registry(t) },
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			repo := server(t) + "/xfn-test/runtime"
			a, b := image(t, "amd64"), image(t, "arm64")
			idx := remotetest.Index(a, b)
			e2e.NoError(t, errors.Join(ggcr.WriteIndex(reference(t, repo+":index"), idx), ggcr.Write(reference(t, repo+":image"), a)))
			digest := e2e.Must(idx.Digest())(t)
			for ref, want := range map[string][]v1.Image{
				":index": {a, b}, ":image": {a}, "@" + digest.String(): {a, b}, ":other@" + digest.String(): {a, b},
			} {
				images := e2e.Must(runtimeimage.FromRemote(t.Context(), client(), reference(t, repo+ref), options(t)))(t)
				assertImages(t, images.All, want...)
				e2e.NoError(t, images.Close())
			}
		})
	}
}

// FromRemote does not fetch the layers of images for other platforms than
// Options.Platforms.
func TestFromRemotePlatform(t *testing.T) {
	requests := remotetest.Record(remotetest.Embedded(t))
	a, b := image(t, "amd64"), image(t, "arm64")
	ref := reference(t, remotetest.Serve(t, requests)+"/a/b:v1")
	e2e.NoError(t, ggcr.WriteIndex(ref, remotetest.Index(a, b)))
	opts := options(t)
	opts.Platforms = []v1.Platform{arm64}
	images := e2e.Must(runtimeimage.FromRemote(t.Context(), client(), ref, opts))(t)
	defer images.Close()
	assertImages(t, images.All, b)
	e2e.Equal(t, "requests for two configs and the layers of one image", 2+len(e2e.Must(b.Manifest())(t).Layers), len(requests.Find("^GET .*/blobs/")))
}

// FromRemote pulls a pinned tag by its locked digest.
func TestFromRemotePinned(t *testing.T) {
	ref := reference(t, remotetest.Serve(t, remotetest.Embedded(t))+"/a/b:v1")
	before, after := image(t, "amd64"), image(t, "arm64")
	e2e.NoError(t, errors.Join(ggcr.Write(ref, before), ggcr.Write(ref, after)))
	digest := e2e.Must(before.Digest())(t)
	opts, refused := options(t), errors.New("it is not locked")
	opts.Pin = func(r name.Reference) (name.Reference, error) {
		if r.Name() != ref.Name() {
			return nil, refused
		}
		return ref.Context().Digest(digest.String()), nil
	}
	images := e2e.Must(runtimeimage.FromRemote(t.Context(), client(), ref, opts))(t)
	defer images.Close()
	assertImages(t, images.All, before)
	e2e.ErrorIs(t, "an image that is not in the lock is not pulled", e2e.Err(runtimeimage.FromRemote(t.Context(), client(), ref.Context().Tag("v2"), opts)), refused)
}

func TestFromRemoteRefuses(t *testing.T) {
	open := remotetest.Serve(t, remotetest.Embedded(t))
	locked := remotetest.Serve(t, remotetest.BasicAuth(remotetest.Embedded(t), "u", "p"))
	cases := map[string]struct {
		reason, ref, want, hint string
	}{
		"Absent": {"a missing tag is an error", open + "/a/b:v1", `has no "a/b:v1"`, ""},
		"Login":  {"required credentials are an error with a hint", locked + "/a/b:v1", "asks for credentials", "docker login " + locked},
		"Nobody": {"an unreachable registry is an error", remotetest.Nobody + "/a/b:v1", "cannot be reached", "check the address"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := runtimeimage.FromRemote(t.Context(), client(), reference(t, tc.ref), options(t))
			assertSentence(t, tc.reason, err, tc.want, tc.ref)
			e2e.Has(t, tc.reason, string(hint.Of(err)), tc.hint)
		})
	}
}

// A faulty layer in a registry gives the same error texts as a faulty manifest.
func TestFromRemoteLayers(t *testing.T) {
	faults := map[string]func(http.Handler) http.HandlerFunc{
		"other content than its digest says": remotetest.Flipped,
		"lacks a blob of":                    func(http.Handler) http.HandlerFunc { return remotetest.Status(http.StatusNotFound) },
		"closed the connection early":        remotetest.Cut,
	}
	img := image(t, "amd64")
	layer := e2e.Must(img.Manifest())(t).Layers[0].Digest
	for want, fault := range faults {
		t.Run(want, func(t *testing.T) {
			inner := remotetest.Handler()
			host := remotetest.Serve(t, remotetest.Faults(inner, 99, "^GET .*"+layer.String(), fault(inner)))
			ref := reference(t, host+"/a/b:v1")
			e2e.NoError(t, ggcr.Write(ref, img))
			e2e.ErrorHas(t, "a faulty layer is an error with the name of the image", e2e.Err(runtimeimage.FromRemote(t.Context(), client(), ref, options(t))), want, ref.Name())
		})
	}
}

func TestFromRemoteStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inner := remotetest.Handler()
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			cancel()
		}
		inner.ServeHTTP(w, r)
	}))
	ref := reference(t, host+"/a/b:v1")
	e2e.NoError(t, ggcr.Write(ref, image(t, "amd64")))
	e2e.ErrorIs(t, "FromRemote returns the cause of its context", e2e.Err(runtimeimage.FromRemote(ctx, client(), ref, options(t))), context.Canceled)
}
