package push_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

// keys are the credentials of hosts.
type keys map[string][2]string

// Resolve implements authn.Keychain.
func (k keys) Resolve(target authn.Resource) (authn.Authenticator, error) {
	if pair, ok := k[target.RegistryStr()]; ok {
		return &authn.Basic{Username: pair[0], Password: pair[1]}, nil
	}
	return authn.Anonymous, nil
}

// forge maps the ends of URL paths to the forged responses of a source registry.
type forge map[string]http.HandlerFunc

func (f forge) over(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for part, answer := range f {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, part) {
				answer(w, r)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

func saying(mediaType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write(content)
	}
}

func text(o object) []byte {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return raw
}

// indexes returns a forge whose tag v1.0.0 is an index with n levels of nested indexes.
func indexes(n int) forge {
	f, inner := forge{}, text(object{"mediaType": types.OCIImageIndex, "manifests": []object{}})
	for range n {
		f["/manifests/"+digestOf(string(inner))] = saying(string(types.OCIImageIndex), inner)
		inner = text(object{"mediaType": types.OCIImageIndex, "manifests": []object{descriptor(string(types.OCIImageIndex), string(inner))}})
	}
	f["/manifests/v1.0.0"] = saying(string(types.OCIImageIndex), inner)
	return f
}

// Copy reports the fault of a source and does not change the tag.
func TestCopyHostile(t *testing.T) {
	const layer = "layer of amd64"
	image := func(more object) []byte {
		return text(with(object{
			"schemaVersion": 2, "mediaType": types.OCIManifestSchema1,
			"config": descriptor(string(types.OCIConfigJSON), `{"for":"amd64"}`), "layers": []object{},
		}, more))
	}
	root := func(raw []byte) func(http.Handler) forge {
		return func(http.Handler) forge { return forge{"/manifests/v1.0.0": saying("", raw)} }
	}
	blob := func(change func([]byte) []byte) func(http.Handler) forge {
		return func(h http.Handler) forge { return forge{"/blobs/" + digestOf(layer): remotetest.Changed(h, change)} }
	}
	sized := func(size int64) []byte {
		return image(object{"layers": []object{with(descriptor(string(types.OCILayer), layer), object{"size": size})}})
	}
	child := func(desc object) []byte {
		return text(object{"mediaType": types.OCIImageIndex, "manifests": []object{desc}})
	}
	cases := map[string]struct {
		reason string
		forge  func(http.Handler) forge
		err    string
	}{
		"Missing":    {"an empty manifest is refused", root(nil), "is not valid"},
		"Flipped":    {"a blob with another digest is refused", blob(remotetest.Flip), "other content than its digest says"},
		"Longer":     {"a blob that is longer than its size is refused", blob(func(b []byte) []byte { return append(b, "more"...) }), "is longer than the"},
		"Shorter":    {"a blob that is shorter than its size is refused", blob(func(b []byte) []byte { return b[:3] }), "closed the connection early"},
		"Gone":       {"a missing blob is reported", func(http.Handler) forge { return forge{"/blobs/" + digestOf(layer): remotetest.Status(404)} }, "lacks a blob of"},
		"SizeLies":   {"a manifest with a wrong blob size is refused", root(sized(7)), "other content than its digest says"},
		"Negative":   {"a negative size is refused", root(sized(-1)), "impossible size of -1 bytes"},
		"Huge":       {"a blob size of 1 TiB is refused", root(sized(1 << 40)), "impossible size"},
		"Large":      {"a manifest of more than 4 MiB is refused", root(image(object{"x": strings.Repeat("x", 4<<20)})), "more than 4 MiB"},
		"LargeChild": {"a child with a size of more than 4 MiB is refused", root(child(with(descriptor(string(types.OCIManifestSchema1), "x"), object{"size": 5 << 20}))), "more than the limit of"},
		"ChildGone":  {"a missing child is reported", root(child(descriptor(string(types.OCIManifestSchema1), "nowhere"))), "has no \"gold/package@sha256:"},
		"ChildSize": {"a child with another size is refused", func(http.Handler) forge {
			inner := image(object{})
			return forge{
				"/manifests/v1.0.0":                     saying("", child(with(descriptor(string(types.OCIManifestSchema1), string(inner)), object{"size": 1}))),
				"/manifests/" + digestOf(string(inner)): saying("", inner),
			}
		}, "bytes, and should have 1"},
		"DigestLies": {"a child with another digest is refused", func(http.Handler) forge {
			return forge{
				"/manifests/v1.0.0":            saying("", child(descriptor(string(types.OCIManifestSchema1), "{}"))),
				"/manifests/" + digestOf("{}"): saying("", image(object{})),
			}
		}, "other content than its digest says"},
		"HeaderLies": {"a tag with another digest than in the response header is refused", func(http.Handler) forge {
			return forge{"/manifests/v1.0.0": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Docker-Content-Digest", digestOf("else"))
				_, _ = w.Write(image(object{}))
			}}
		}, "other content than its digest says"},
		"Cycle": {"an index that lists itself by a wrong digest is refused", func(http.Handler) forge {
			self := child(descriptor(string(types.OCIImageIndex), "{}"))
			return forge{"/manifests/v1.0.0": saying("", self), "/manifests/" + digestOf("{}"): saying("", self)}
		}, "other content than its digest says"},
		"Deep":       {"indexes nested too deeply are refused", func(http.Handler) forge { return indexes(6) }, "nested more than 4 deep"},
		"Many":       {"a manifest with too many layers is refused", root(image(object{"layers": repeat(descriptor("", layer), 10_001)})), "more than 10000 manifests, configs and layers"},
		"Both":       {"a manifest with the fields of an image and an index is refused", root(image(object{"manifests": []object{}})), "an image and an index at once"},
		"Neither":    {"a manifest that is neither an image nor an index is refused", root([]byte(`{}`)), "neither an image nor an index"},
		"Schema1":    {"a manifest of schema 1 is refused", root([]byte(`{"schemaVersion":1,"fsLayers":[]}`)), "schema 1"},
		"BadDigest":  {"an invalid digest is refused", root(bytes.ReplaceAll(sized(14), []byte(digestOf(layer)), []byte("sha256:x"))), "is not valid"},
		"EndlessSig": {"attachments nested too deeply are refused", func(http.Handler) forge { return endless() }, "nested more than 4 deep"},
		"SigGone": {"a missing referrer is reported", func(h http.Handler) forge {
			list := text(object{"mediaType": types.OCIImageIndex, "manifests": []object{descriptor(string(types.OCIManifestSchema1), "nowhere")}})
			return forge{"/manifests/v1.0.0": saying(string(types.OCIManifestSchema1), image(object{})), "/referrers/" + digestOf(string(image(object{}))): saying(string(types.OCIImageIndex), list)}
		}, "finding the attachments of"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			src := plain(t)
			s := newShelf(t, remotetest.Serve(t, src))
			s.fill(false)
			from := parse(t, remotetest.Serve(t, tc.forge(src).over(src)))
			to := parse(t, remotetest.Serve(t, plain(t)))
			before := single(t)
			e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), to, before, fast())))
			_, err := push.Copy(t.Context(), from, to, copyOptions())
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("copying %q", from.Name())) || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
			e2e.Equal(t, fmt.Sprintf("%s: the hint %q names the flag", tc.reason, hint.Of(err)), strings.Contains(fmt.Sprint(err), "attachments"), strings.Contains(string(hint.Of(err)), "{no-signatures}"))
			checkTag(t, to, before)
		})
	}
}

func repeat(o object, n int) []object {
	all := make([]object, n)
	for i := range all {
		all[i] = with(o, object{"digest": digestOf(fmt.Sprint(i))})
	}
	return all
}

// endless returns a forge with a chain of artifacts, each attached to the previous artifact.
func endless() forge {
	f := forge{}
	next := func(i int) string {
		return string(text(object{"mediaType": types.OCIImageIndex, "manifests": []object{}, "annotations": object{"n": fmt.Sprint(i)}}))
	}
	for i := range 20 {
		list := text(object{"mediaType": types.OCIImageIndex, "manifests": []object{descriptor(string(types.OCIImageIndex), next(i+1))}})
		f["/referrers/"+digestOf(next(i))] = saying(string(types.OCIImageIndex), list)
		f["/manifests/"+digestOf(next(i))] = saying(string(types.OCIImageIndex), []byte(next(i)))
	}
	f["/manifests/v1.0.0"] = f["/manifests/"+digestOf(next(0))]
	return f
}

// Copy downloads a blob again after a bit is flipped once.
func TestCopyReadsAgain(t *testing.T) {
	const layer = "layer of amd64"
	src := remotetest.Embedded(t)
	s := newShelf(t, remotetest.Serve(t, src))
	s.fill(true)
	from := parse(t, remotetest.Serve(t, remotetest.Faults(src, 1, "/blobs/"+digestOf(layer)+"$", remotetest.Flipped(src))))
	to := parse(t, remotetest.Serve(t, remotetest.Embedded(t)))
	e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, copyOptions())))
	s.check(to.Context(), nil)
}

// An error of a registry that refuses writes states the progress of the copy.
func TestCopyToWhatRefuses(t *testing.T) {
	cases := map[string]struct{ reason, match, err string }{
		"Blobs":    {"the registry refuses blobs", "^POST ", "denied access"},
		"Manifest": {"the registry refuses manifests", "^PUT .*/manifests/", "denied access"},
		"Attached": {"the registry refuses signatures", `^PUT .*\.sig$`, `.sig": `},
		"Tag":      {"the registry refuses the tag", "^PUT .*/v1.0.0$", "8 of 8 blobs are in the registry"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, remotetest.Serve(t, remotetest.Embedded(t)))
			s.fill(true)
			dst := remotetest.Embedded(t)
			direct := parse(t, remotetest.Serve(t, dst))
			before := single(t)
			e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), direct, before, fast())))
			to := parse(t, remotetest.Serve(t, remotetest.Faults(dst, 99, tc.match, remotetest.Status(403))))
			_, err := push.Copy(t.Context(), s.repo.Tag("v1.0.0"), to, copyOptions())
			want := fmt.Sprintf("copying %q to %q: ", s.repo.Tag("v1.0.0").Name(), to.Name())
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), tc.err) || !strings.HasSuffix(err.Error(), `tag "v1.0.0" was not changed`) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			checkTag(t, direct, before)
		})
	}
}

// If the response to the write of a tag is lost, the error does not say that
// the tag is unchanged.
func TestLostAnswer(t *testing.T) {
	inner := remotetest.Handler()
	var tries atomic.Int64
	to := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/v1.0.0"):
			inner.ServeHTTP(w, r)
		case tries.Add(1) == 1:
			inner.ServeHTTP(httptest.NewRecorder(), r)
			remotetest.Reset(w, r)
		default:
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})))
	_, err := push.Artifact(t.Context(), to, single(t), fast())
	e2e.ErrorHas(t, "the error says that the tag may be at either package", err, `tag "v1.0.0" may be at the old or the new package`)
}

// A blob that is embedded in its descriptor need not be at the source.
func TestCopyEmbedded(t *testing.T) {
	raw := text(object{
		"schemaVersion": 2, "mediaType": types.OCIManifestSchema1, "layers": []object{},
		"config": with(descriptor(string(types.OCIEmptyJSON), "{}"), object{"data": "e30="}),
	})
	f := forge{"/manifests/v1.0.0": saying(string(types.OCIManifestSchema1), raw)}
	from := parse(t, remotetest.Serve(t, f.over(remotetest.Embedded(t))))
	to := parse(t, remotetest.Serve(t, remotetest.Embedded(t)))
	e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, copyOptions())))
	l := e2e.Must(ggcr.Layer(to.Context().Digest(digestOf("{}"))))(t)
	rc := e2e.Must(l.Compressed())(t)
	defer func() { _ = rc.Close() }()
	e2e.Equal(t, "the blob in the descriptor is at the target", "{}", string(e2e.Must(io.ReadAll(rc))(t)))
}

// Copy returns an error for a source that does not exist or requires credentials.
func TestCopyOfNothing(t *testing.T) {
	to := parse(t, remotetest.Serve(t, remotetest.Embedded(t)))
	for reason, tc := range map[string]struct{ host, err string }{
		"the source does not exist":       {remotetest.Serve(t, remotetest.Embedded(t)), `has no "gold/package:v1.0.0"`},
		"the source requires credentials": {remotetest.Serve(t, remotetest.BasicAuth(remotetest.Embedded(t), "a", "b")), "asks for credentials"},
		// This address has no server. It is reserved last, because another server could get its
		// port.
		"the source cannot be reached": {remotetest.Nobody, "cannot be reached"},
	} {
		o := copyOptions()
		o.Transport = remote.New(remote.Options{Keychain: keys{}})
		from := parse(t, tc.host)
		_, err := push.Copy(t.Context(), from, to, o)
		e2e.ErrorHas(t, reason, err, fmt.Sprintf("registry %q %s", tc.host, tc.err))
	}
}
