package push_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

// tagged returns gold/package with tags.
func tagged(t *testing.T, host string, tags ...string) (all []name.Tag) {
	t.Helper()
	for _, tag := range tags {
		all = append(all, e2e.Must(name.NewTag(host+"/gold/package:"+tag))(t))
	}
	return all
}

// Artifact writes only tags that do not point to the package yet.
func TestTags(t *testing.T) {
	requests := remotetest.Record(remotetest.Handler())
	refs := tagged(t, remotetest.Serve(t, requests), "v1.0.0", "latest", "v1")
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), refs[1], multi(t), push.Options{})))
	requests.Clear()
	res := e2e.Must(push.Artifact(t.Context(), refs[0], multi(t), push.Options{Tags: refs[1:]}))(t)
	e2e.Equal(t, "the result has all tags", []string{refs[0].Name(), refs[1].Name(), refs[2].Name()}, res.References)
	e2e.Equal(t, "two tags are written", 2, len(requests.Find("^PUT ")))
	for _, ref := range refs {
		checkTag(t, ref, multi(t))
	}
}

// A further tag of another repository is an error, before any request.
func TestTagsOfAnotherRepository(t *testing.T) {
	host := remotetest.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got the request %s %s", r.Method, r.URL) }))
	ref := tagged(t, host, "v1.0.0")[0]
	other := ref.Context().Registry.Repo("acme", "other").Tag("latest")
	o := push.Options{Tags: []name.Tag{other}}
	want := "reading the further tag \"" + other.Name() + "\": expected a tag of " + ref.Context().Name()
	_, err := push.Artifact(t.Context(), ref, single(t), o)
	e2e.ErrorHas(t, "a push to a tag of another repository is an error", err, want)
	_, err = push.Copy(t.Context(), ref, ref, push.CopyOptions{Options: o})
	e2e.ErrorHas(t, "a copy to a tag of another repository is an error", err, want)
}

// If a push fails, the error states for each tag whether it points to the new package.
func TestState(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Faults(remotetest.Handler(), 99, "^PUT .*/latest$", remotetest.Status(http.StatusForbidden)))
	refs := tagged(t, host, "v1.0.0", "latest")
	_, err := push.Artifact(t.Context(), refs[0], single(t), push.Options{Tags: refs[1:]})
	const want = `; all blobs are in the registry, tag "v1.0.0" is at the new package, tag "latest" was not changed`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// A dry run computes the result of a push and writes nothing.
func TestDryRun(t *testing.T) {
	requests := remotetest.Record(remotetest.Handler())
	ref := parse(t, remotetest.Serve(t, requests))
	plan := e2e.Must(push.Artifact(t.Context(), ref, multi(t), push.Options{DryRun: true}))(t)
	e2e.Equal(t, "the writes of a dry run", 0, len(requests.Find(remotetest.Writes)))
	done := e2e.Must(push.Artifact(t.Context(), ref, multi(t), push.Options{}))(t)
	if diff := cmp.Diff(plan, done); diff != "" || plan.Sent == 0 {
		t.Errorf("-planned +done:\n%s", diff)
	}
	requests.Clear()
	again, err := push.Artifact(t.Context(), ref, multi(t), push.Options{DryRun: true})
	if want := (push.Traffic{Skipped: plan.Sent}); err != nil || again.Traffic != want {
		t.Errorf("got %+v, %v, want %+v", again.Traffic, err, want)
	}
	e2e.Equal(t, "the writes of a second dry run", 0, len(requests.Find(remotetest.Writes)))
}

// Push mounts blobs from the repository of the base image and from the repositories
// that the options name.
func TestMount(t *testing.T) {
	base := e2e.Must(random.Image(1000, 2))(t)
	cases := map[string]struct {
		reason, annotated string
		from              []string
		mounted           bool
	}{
		"Base":      {"the base image in the package's annotations is mounted from", "HOST/gold/base:v1", nil, true},
		"Named":     {"a repository in MountFrom is mounted from", "", []string{"gold/none", "gold/base"}, true},
		"Elsewhere": {"a base image in another registry is not mounted from", "registry.example.org/gold/base:v1", nil, false},
		"Garbage":   {"an invalid base image reference is ignored", "HOST/gold base", nil, false},
		"Upwards":   {"a base image reference with .. in its path is ignored", "HOST/gold/../gold/base:v1", nil, false},
		"None":      {"without a base image nothing is mounted", "", nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := mounting(t, base)
			host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/../") {
					t.Errorf("a request for %s was sent", r.URL.Path)
				}
				registry.ServeHTTP(w, r)
			}))
			a, ok := mutate.Annotations(base, map[string]string{"org.opencontainers.image.base.name": strings.ReplaceAll(tc.annotated, "HOST", host)}).(v1.Image)
			if !ok {
				t.Fatal("no image")
			}
			o := push.Options{}
			for _, repo := range tc.from {
				o.MountFrom = append(o.MountFrom, repository(t, host, repo))
			}
			res := e2e.Must(push.Artifact(t.Context(), parse(t, host), a, o))(t)
			if (res.Mounted > 0) != tc.mounted || (res.Sent == 0) != tc.mounted {
				t.Errorf("%s: got %+v", tc.reason, res.Traffic)
			}
		})
	}
}

func repository(t *testing.T, host, path string) name.Repository {
	t.Helper()
	return e2e.Must(name.NewRepository(host + "/" + path))(t)
}

// mounting returns a registry that mounts the blobs of base from gold/base, the
// only repository with blobs.
func mounting(t *testing.T, base v1.Image) http.Handler {
	t.Helper()
	sizes := map[string]string{}
	m := e2e.Must(base.Manifest())(t)
	for _, d := range append(m.Layers, m.Config) {
		sizes[d.Digest.String()] = http.StatusText(http.StatusOK)
	}
	inner := remotetest.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest, inBase := strings.CutPrefix(r.URL.Path, "/v2/gold/base/blobs/")
		mount := r.URL.Query().Get("mount")
		switch {
		case r.Method == http.MethodHead && inBase && sizes[digest] != "":
		case r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/blobs/"):
			w.WriteHeader(http.StatusNotFound)
		case sizes[mount] != "" && r.URL.Query().Get("from") == "gold/base":
			w.WriteHeader(http.StatusCreated)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// With Options.Prove, Artifact refuses a package with wrong diff IDs before the upload,
// unless the tag points to the package already.
func TestProve(t *testing.T) {
	wrong := artifact(t, "file-wrong-diffid/in/a.xpkg")
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	_, err := push.Artifact(t.Context(), ref, wrong, push.Options{Prove: true})
	e2e.ErrorHas(t, "a package with wrong diff IDs is rejected before the upload", err, "but the config says", "none of 3 blobs is known to be in the registry")
	if isAt(t, ref, wrong) {
		t.Error("the tag was written")
	}
	e2e.WantError(t, "a package with correct diff IDs is pushed", e2e.Err(push.Artifact(t.Context(), ref, multi(t), push.Options{Prove: true})), "")
	for _, prove := range []bool{false, true} {
		e2e.WantError(t, fmt.Sprintf("prove %t, with the package at the tag", prove), e2e.Err(push.Artifact(t.Context(), ref, wrong, push.Options{Prove: prove})), "")
	}
}

// gated is a layer that, once closed, returns at most half of its bytes until
// its gate is opened.
type gated struct {
	v1.Layer
	closed              atomic.Bool
	waiting, gate, read chan struct{}
}

func (g *gated) Compressed() (io.ReadCloser, error) {
	rc, err := g.Layer.Compressed()
	if err != nil || !g.closed.Load() {
		return rc, err
	}
	half := io.LimitReader(rc, 1<<20)
	read := readerFunc(func(p []byte) (int, error) {
		if n, err := half.Read(p); err == nil {
			return n, nil
		}
		close(g.waiting)
		<-g.gate
		n, _ := rc.Read(p)
		return n, io.ErrUnexpectedEOF
	})
	return gatedReader{read, g.read}, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A gatedReader is closed after its bytes are counted.
type gatedReader struct {
	io.Reader
	closed chan struct{}
}

func (r gatedReader) Close() error {
	close(r.closed)
	return nil
}

// refuse responds while the layer is still being uploaded.
func (g *gated) refuse(w http.ResponseWriter, _ *http.Request) {
	<-g.waiting
	c := http.NewResponseController(w)
	_ = c.EnableFullDuplex()
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusForbidden)
	_ = c.Flush()
	<-g.read
}

// No progress is reported after the end of the push, even if an abandoned
// request still reads its body.
func TestProgressEnds(t *testing.T) {
	layer := e2e.Must(random.Layer(2<<20, types.OCILayer))(t)
	g := &gated{Layer: layer, waiting: make(chan struct{}), gate: make(chan struct{}), read: make(chan struct{})}
	a, err := mutate.AppendLayers(empty.Image, g)
	e2e.NoError(t, err)
	e2e.NoError(t, e2e.Err(a.RawManifest()))
	g.closed.Store(true)
	host := remotetest.Serve(t, remotetest.Faults(remotetest.Handler(), 1, "^PATCH ", g.refuse))
	var ended atomic.Bool
	_, err = push.Artifact(t.Context(), parse(t, host), a, push.Options{Progress: func(text string, done, _ int64) {
		if ended.Load() {
			t.Errorf("progress after the end: %s: %d bytes", text, done)
		}
	}})
	ended.Store(true)
	e2e.Error(t, "a failed push is an error", err)
	close(g.gate)
	e2e.Receive(t, g.read)
}
