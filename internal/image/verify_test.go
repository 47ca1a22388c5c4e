package image_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/registry"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// own returns the registry that the command xfn registry serve runs.
func own(t *testing.T) http.Handler {
	t.Helper()
	h := e2e.Must(registry.Open(t.TempDir()))(t)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// randomImage returns a random image of two layers for a platform.
func randomImage(t *testing.T, architecture string) v1.Image {
	t.Helper()
	img := mutate.MediaType(e2e.Must(random.Image(3000, 2))(t), types.OCIManifestSchema1)
	return remotetest.Configured(t, img, v1.Platform{OS: "linux", Architecture: architecture}, v1.Config{})
}

func publish(t *testing.T, ref name.Tag, a oci.Artifact, k *signature.PrivateKey) push.Result {
	t.Helper()
	return e2e.Must(push.Artifact(t.Context(), ref, a, push.Options{SignKey: k.Signer()}))(t)
}

func publics(keys ...*signature.PrivateKey) (all []signature.Verifier) {
	for _, k := range keys {
		all = append(all, k.Public())
	}
	return all
}

func options() image.Options {
	return image.Options{Remote: remote.New(remote.Options{RetryWait: time.Millisecond})}
}

func layersOf(t *testing.T, img v1.Image) (all []string) {
	t.Helper()
	for _, d := range e2e.Must(img.Manifest())(t).Layers {
		all = append(all, d.Digest.String())
	}
	return all
}

// Verify counts and reads each digest once.
func TestArtifact(t *testing.T) {
	a, b := randomImage(t, "amd64"), randomImage(t, "arm64")
	shared := e2e.Must(mutate.AppendLayers(b, e2e.Must(a.Layers())(t)...))(t)
	mine, yours := remotetest.Key(t), remotetest.Key(t)
	cases := map[string]struct {
		reason            string
		a                 oci.Artifact
		blobs             int
		layers, platforms []string
	}{
		"Image": {"an image has a manifest, a config and two layers", a, 4, layersOf(t, a), []string{"linux/amd64"}},
		"Index": {"layers that two images of an index share are counted once", remotetest.Index(a, shared), 1 + 2*2 + 4, layersOf(t, shared), []string{"linux/amd64", "linux/arm64"}},
		"Twice": {"an image that is listed twice is counted once", remotetest.Index(a, a), 1 + 4, layersOf(t, a), []string{"linux/amd64", "linux/amd64"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			requests := remotetest.Record(own(t))
			ref := parse(t, remotetest.Serve(t, requests))
			publish(t, ref, tc.a, yours)
			pushed := publish(t, ref, tc.a, mine)
			requests.Clear()
			var mu sync.Mutex
			var done, total int64
			o := options()
			o.Progress = func(e progress.Event) {
				mu.Lock()
				defer mu.Unlock()
				done, total = max(done, e.Done), e.Total
			}
			got := e2e.Must(image.Verify(t.Context(), ref, publics(mine, remotetest.Key(t)), o.Remote, o.Progress))(t)
			want := image.Verification{
				Digest: pushed.Digest, MediaType: pushed.MediaType, Platforms: tc.platforms,
				Signatures: 2, By: []int{1, 0}, Blobs: tc.blobs, Bytes: got.Bytes,
			}
			e2e.Equal(t, tc.reason, want, got)
			if done != total || total == 0 || got.Bytes <= total {
				t.Errorf("%s: %d of %d bytes of layers, %d in all", tc.reason, done, total, got.Bytes)
			}
			for _, h := range tc.layers {
				e2e.Equal(t, fmt.Sprintf("%s: reads of layer %s", tc.reason, h), 1, len(requests.Find("^GET /v2/gold/package/blobs/"+h)))
			}
		})
	}
}

// Errors are one sentence. Only the manifest of an unsigned package is read.
func TestNotSigned(t *testing.T) {
	mine, yours := remotetest.Key(t), remotetest.Key(t)
	other := randomImage(t, "arm64")
	cases := map[string]struct {
		reason  string
		prepare func(t *testing.T, ref name.Tag, signatures name.Tag)
		err     string
	}{
		"None":  {"a package without a signature is an error", nil, "has no signature"},
		"Other": {"a signature by another key is an error", func(t *testing.T, ref, _ name.Tag) { publish(t, ref, randomImage(t, "amd64"), yours) }, "has 1 signature, but none by the key: "},
		"Moved": {"a signature of another package is an error", func(t *testing.T, ref, at name.Tag) {
			pushed := publish(t, ref.Context().Tag("other"), other, mine)
			move(t, signature.Tag(ref.Context(), pushed.Digest), at)
		}, "has no valid signature: the key signed sha256:"},
		"Tampered": {"a changed signature is an error", func(t *testing.T, ref, at name.Tag) {
			s := e2e.Must(mine.Sign(ref.Context(), digestAt(t, ref)))(t)
			s.Value[0] ^= 1
			store(t, at, s)
		}, "has 1 signature, but none by the key: they were made with other keys, or changed"},
		"Index":   {"an index instead of signatures is an error", func(t *testing.T, _, at name.Tag) { e2e.NoError(t, ggcr.WriteIndex(at, remotetest.Index(other))) }, "is an index and not an image of signatures"},
		"Image":   {"an image instead of signatures is an error", func(t *testing.T, _, at name.Tag) { e2e.NoError(t, ggcr.Write(at, other)) }, "has no signature"},
		"Nothing": {"a missing reference is an error", func(t *testing.T, ref, _ name.Tag) { e2e.NoError(t, ggcr.Delete(ref)) }, `has no "gold/package:v1.0.0"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := remotetest.Handler()
			direct := remotetest.Serve(t, inner)
			ref := parse(t, direct)
			if name == "Other" {
				tc.prepare(t, ref, ref)
			} else {
				pushed := publish(t, ref, randomImage(t, "amd64"), nil)
				if tc.prepare != nil {
					tc.prepare(t, ref, signature.Tag(ref.Context(), pushed.Digest))
				}
			}
			layers := blobsOf(t, ref)
			watched := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if slices.Contains(layers, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]) {
					t.Errorf("%s: %s is read before the signature is verified", tc.reason, r.URL.Path)
				}
				inner.ServeHTTP(w, r)
			})))
			_, err := image.Verify(t.Context(), watched, publics(mine), options().Remote, nil)
			checkError(t, tc.reason, err, watched, tc.err)
		})
	}
}

func checkError(t *testing.T, reason string, err error, ref name.Tag, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), `verifying "`+ref.Name()+`": `) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: got error %v, want %q in it", reason, err, want)
	}
}

func digestAt(t *testing.T, ref name.Reference) v1.Hash {
	t.Helper()
	return e2e.Must(ggcr.Head(ref))(t).Digest
}

// blobsOf returns the digests below the image at ref, if it exists.
func blobsOf(t *testing.T, ref name.Tag) (all []string) {
	t.Helper()
	img, err := ggcr.Image(ref)
	if err != nil {
		return nil
	}
	return append(layersOf(t, img), e2e.Must(img.ConfigName())(t).String())
}

// move copies an image of signatures to another tag.
func move(t *testing.T, from, to name.Tag) {
	t.Helper()
	e2e.NoError(t, ggcr.Tag(to, e2e.Must(ggcr.Get(from))(t)))
}

func store(t *testing.T, at name.Tag, s signature.Signature) {
	t.Helper()
	e2e.NoError(t, ggcr.Write(at, e2e.Must(signature.Append(nil, s))(t)))
}

// All blobs and manifests below a signed manifest are verified.
func TestLies(t *testing.T) {
	img := randomImage(t, "amd64")
	child := e2e.Must(img.Digest())(t)
	m := e2e.Must(img.Manifest())(t)
	layer, config := m.Layers[1].Digest, m.Config.Digest
	cases := map[string]struct {
		reason string
		digest v1.Hash
		change func([]byte) []byte
		err    string
	}{
		"Layer":    {"a flipped bit in a layer is an error", layer, remotetest.Flip, layer.String() + " has other content than its digest says"},
		"Short":    {"a truncated layer is an error", layer, func(b []byte) []byte { return b[:len(b)-1] }, "blob " + layer.String() + " ended after"},
		"Long":     {"a layer that is too long is an error", layer, func(b []byte) []byte { return append(b, 0) }, "blob " + layer.String() + " is longer than the"},
		"Config":   {"a flipped bit in a config is an error", config, remotetest.Flip, "reading config " + config.String()},
		"Manifest": {"a flipped bit in the manifest of an image is an error", child, remotetest.Flip, child.Hex},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := own(t)
			key := remotetest.Key(t)
			publish(t, parse(t, remotetest.Serve(t, inner)), remotetest.Index(img, randomImage(t, "arm64")), key)
			lying := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, "^GET .*"+tc.digest.String(), remotetest.Changed(inner, tc.change))))
			_, err := image.Verify(t.Context(), lying, publics(key), options().Remote, nil)
			checkError(t, tc.reason, err, lying, tc.err)
		})
	}
}

// A broken stream is resumed, or restarted if the registry has no ranges. A
// wrong range is read again.
func TestBroken(t *testing.T) {
	img := randomImage(t, "amd64")
	layer := e2e.Must(img.Manifest())(t).Layers[0]
	cases := map[string]struct {
		reason string
		ranges bool
		times  int
		junk   bool
		err    string
	}{
		"Resumed":  {"one break is resumed", true, 1, false, ""},
		"Again":    {"one break is restarted without ranges", false, 1, false, ""},
		"Twice":    {"two breaks are resumed", true, 2, false, ""},
		"Restored": {"a wrong range is read again", true, 1, true, ""},
		"Always":   {"a stream that always breaks is an error", true, 100, false, "the connection early"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := own(t)
			key := remotetest.Key(t)
			publish(t, parse(t, remotetest.Serve(t, inner)), img, key)
			broken := 0
			ref := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, layer.Digest.String()) {
					inner.ServeHTTP(w, r)
					return
				}
				if !tc.ranges {
					r.Header.Del("Range")
				}
				if broken++; broken > tc.times {
					inner.ServeHTTP(w, r)
					return
				}
				rec := httptest.NewRecorder()
				inner.ServeHTTP(rec, r)
				part := bytes.Clone(rec.Body.Bytes()[:rec.Body.Len()/2])
				if tc.junk {
					part[0] ^= 1
				}
				maps.Copy(w.Header(), rec.Header())
				w.WriteHeader(rec.Code)
				_, _ = w.Write(part)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})))
			_, err := image.Verify(t.Context(), ref, publics(key), options().Remote, nil)
			if tc.err != "" {
				checkError(t, tc.reason, err, ref, tc.err)
			} else {
				e2e.WantError(t, tc.reason, err, "")
			}
		})
	}
}

// remote.Options.Tries limits the number of requests for a layer.
func TestPatience(t *testing.T) {
	key, inner := remotetest.Key(t), own(t)
	img := randomImage(t, "amd64")
	publish(t, parse(t, remotetest.Serve(t, inner)), img, key)
	layer := e2e.Must(img.Manifest())(t).Layers[0].Digest
	for _, tries := range []int{1, 5} {
		var asked atomic.Int64
		ref := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, layer.String()) {
				inner.ServeHTTP(w, r)
				return
			}
			asked.Add(1)
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write([]byte("x"))
		})))
		_, err := image.Verify(t.Context(), ref, publics(key), remote.New(remote.Options{Tries: tries, RetryWait: 1}), nil)
		if err == nil || asked.Load() != int64(tries) {
			t.Errorf("got %d requests, want %d (%v)", asked.Load(), tries, err)
		}
	}
}

// Layers that registries need not store are listed, and not fetched from their URLs.
func TestElsewhere(t *testing.T) {
	visited := remotetest.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the URL in the manifest was requested") }))
	foreign := static.NewLayer([]byte("a licence forbids it"), types.OCIRestrictedLayer)
	img := e2e.Must(mutate.Append(randomImage(t, "amd64"), mutate.Addendum{Layer: foreign, URLs: []string{"http://" + visited}, MediaType: types.OCIRestrictedLayer}))(t)
	ref, key := parse(t, remotetest.Serve(t, own(t))), remotetest.Key(t)
	publish(t, ref, img, key)
	got := e2e.Must(image.Verify(t.Context(), ref, publics(key), options().Remote, nil))(t)
	if want := e2e.Must(foreign.Digest())(t); !slices.Equal(got.Elsewhere, []v1.Hash{want}) || got.Blobs != 4 {
		t.Errorf("got %+v, want %s elsewhere", got, want)
	}
}

// Verify accepts a digest as the reference. It accepts a package that was copied to another
// repository together with its signatures.
func TestCopied(t *testing.T) {
	ref, key := parse(t, remotetest.Serve(t, own(t))), remotetest.Key(t)
	pushed := publish(t, ref, randomImage(t, "amd64"), key)
	copied := e2e.Must(remote.ParseTag("silver/copy:v2", ref.RegistryStr()))(t)
	for from, to := range map[name.Tag]name.Tag{ref: copied, signature.Tag(ref.Context(), pushed.Digest): signature.Tag(copied.Context(), pushed.Digest)} {
		e2e.NoError(t, ggcr.Write(to, e2e.Must(ggcr.Image(from))(t)))
	}
	for _, r := range []name.Reference{copied, ref.Context().Digest(pushed.Digest.String())} {
		e2e.NoError(t, e2e.Err(image.Verify(t.Context(), r, publics(key), options().Remote, nil)))
	}
}

func TestRealRegistry(t *testing.T) {
	host := remotetest.Registry(t)
	ref, key := e2e.Must(remote.ParseTag("xfn-test/verified:v1.0.0", host))(t), remotetest.Key(t)
	publish(t, ref, remotetest.Index(randomImage(t, "amd64"), randomImage(t, "arm64")), key)
	got := e2e.Must(image.Verify(t.Context(), ref, publics(key), options().Remote, nil))(t)
	if got.Blobs != 9 || got.By[0] != 1 {
		t.Errorf("got %+v", got)
	}
}

// Without keys and identities, Trusted returns only references with a locked digest.
func TestTrustedWithoutVerifiers(t *testing.T) {
	t.Parallel()
	tag := name.MustParseReference("registry.example.org/fn:v2")
	locked := tag.Context().Digest("sha256:" + strings.Repeat("a", 64))
	for _, pinned := range []name.Reference{tag, locked} {
		o := image.Options{Pin: func(name.Reference) (name.Reference, error) { return pinned, nil }}
		got, err := image.Trusted(t.Context(), tag, nil, nil, o)
		if (err == nil) != (pinned == locked) || err == nil && got != pinned {
			t.Errorf("with the pinned reference %s: got %v and error %v", pinned, got, err)
		}
	}
}
