package push_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// artifact opens files of a golden case as one package.
func artifact(t *testing.T, files ...string) xpkg.Artifact {
	t.Helper()
	var named []xpkg.Target
	for _, file := range files {
		f := e2e.Open(xpkg.Open(t.Context(), "../testdata/golden/xpkg/push/"+file))(t)
		named = append(named, xpkg.Target{Path: file, Artifact: f.Artifact})
	}
	return e2e.Must(xpkg.Join(t.Context(), named))(t)
}

func single(t *testing.T) xpkg.Artifact { return artifact(t, "single-examples/in/a.xpkg") }

func multi(t *testing.T) xpkg.Artifact {
	return artifact(t, "multi-verbose/in/a.xpkg", "multi-verbose/in/b.xpkg")
}

func parse(t *testing.T, host string) name.Tag {
	t.Helper()
	return e2e.Must(remote.ParseTag("gold/package:v1.0.0", host))(t)
}

func fast() push.Options {
	return push.Options{Transport: remote.New(remote.Options{RetryWait: time.Millisecond})}
}

func TestResult(t *testing.T) {
	cases := map[string]struct {
		reason string
		a      xpkg.Artifact
		want   push.Result
	}{
		"Image": {"an image without a platform gives no platforms", single(t), push.Result{MediaType: types.OCIManifestSchema1}},
		"Index": {"an index gives the platforms of its images", multi(t), push.Result{MediaType: types.OCIImageIndex, Platforms: []string{"linux/amd64", "linux/arm64/v8"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
			got, err := push.Artifact(t.Context(), ref, tc.a, push.Options{})
			e2e.NoError(t, err)
			tc.want.References = []string{ref.Name()}
			tc.want.Sent = got.Sent
			if tc.want.Digest, err = tc.a.Digest(); err != nil {
				t.Fatal(err)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
			desc := e2e.Must(ggcr.Get(ref))(t)
			if desc.Digest != got.Digest || desc.MediaType != got.MediaType {
				t.Errorf("the tag in the registry is at %s, %s", desc.Digest, desc.MediaType)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Handler())
	for _, reason := range []string{"progress of an upload of all blobs", "progress of a push without uploads"} {
		var mu sync.Mutex
		var events []progress.Event
		_, err := push.Artifact(t.Context(), parse(t, host), multi(t), push.Options{Jobs: 1, Progress: progress.Func(func(e progress.Event) {
			mu.Lock()
			events = append(events, e)
			mu.Unlock()
		}).Plain()})
		e2e.NoError(t, err)
		last := progress.Event{}
		for _, e := range events {
			if e.Kind != progress.Bytes || !strings.HasPrefix(e.Text, "pushing "+host) || e.Done < last.Done || e.Total < last.Total {
				t.Errorf("%s: got %+v after %+v", reason, e, last)
			}
			last = e
		}
		if last.Total == 0 || last.Done != last.Total {
			t.Errorf("%s: the last event is %+v", reason, last)
		}
	}
}

// A push without changes requests only the tag.
func TestUnchanged(t *testing.T) {
	requests := remotetest.Record(remotetest.Handler())
	host := remotetest.Serve(t, requests)
	for range 2 {
		requests.Clear()
		e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), parse(t, host), multi(t), push.Options{})))
	}
	want := []string{"GET /v2/", "HEAD /v2/gold/package/manifests/v1.0.0"}
	e2e.Equal(t, "an unchanged push only asks for the tag", want, requests.Find(""))
}

// For a fault at each request in turn: if it is transient, the push succeeds;
// if it is permanent, the tag stays at the old package.
func TestFaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  http.HandlerFunc
		stays  bool
	}{
		"Busy":      {"a transient 503 does not stop a push", remotetest.Status(503), false},
		"Reset":     {"a transient connection reset does not stop a push", remotetest.Reset, false},
		"Down":      {"a permanent 500 leaves the tag at the old package", remotetest.Status(500), true},
		"Forbidden": {"a permanent 403 leaves the tag at the old package", remotetest.Status(403), true},
		"Resets":    {"permanent connection resets leave the tag at the old package", remotetest.Reset, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for n := int64(1); ; n++ {
				if !faultAt(t, n, tc.fault, tc.stays, tc.reason) {
					return
				}
			}
		})
	}
}

// faultAt pushes with a fault at the nth request, and at all later ones if it
// is permanent. It returns false if there are fewer requests.
func faultAt(t *testing.T, n int64, fault http.HandlerFunc, stays bool, reason string) bool {
	t.Helper()
	inner := remotetest.Handler()
	ref := parse(t, remotetest.Serve(t, inner))
	before := single(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, before, push.Options{})))
	var seen atomic.Int64
	flaky := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := seen.Add(1); i == n || stays && i > n {
			fault(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})))
	after := multi(t)
	_, err := push.Artifact(t.Context(), flaky, after, fast())
	reached := seen.Load() >= n
	want := after
	if stays && reached && err != nil {
		want = before
		if !strings.HasPrefix(err.Error(), `pushing "`+flaky.Name()+`": `) || !strings.Contains(err.Error(), "registry ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s at request %d: error %q", reason, n, err)
		}
	} else if err != nil {
		t.Fatalf("%s at request %d: %v", reason, n, err)
	}
	checkTag(t, ref, want)
	return reached
}

func checkTag(t *testing.T, ref name.Tag, want xpkg.Artifact) {
	t.Helper()
	desc := e2e.Must(ggcr.Get(ref))(t)
	h := e2e.Must(want.Digest())(t)
	if desc.Digest != h {
		t.Fatalf("the tag is at %s, want %s", desc.Digest, h)
	}
	if _, ok := want.(v1.ImageIndex); !ok {
		return
	}
	idx := e2e.Must(desc.ImageIndex())(t)
	e2e.NoError(t, validate.Index(idx, validate.Fast))
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := remotetest.Serve(t, remotetest.Faults(remotetest.Handler(), 99, "^PUT ", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	e2e.ErrorIs(t, "canceling ends an upload", e2e.Err(push.Artifact(ctx, parse(t, host), multi(t), push.Options{})), context.Canceled)
}

// A pushed and pulled package gives the same file.
func TestThereAndBack(t *testing.T) {
	pushed, back := filepath.Join(t.TempDir(), "pushed.xpkg"), filepath.Join(t.TempDir(), "back.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), pushed, multi(t), nil))
	f := e2e.Open(xpkg.Open(t.Context(), pushed))(t)
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, f.Artifact, push.Options{})))
	e2e.NoError(t, e2e.Err(image.File(t.Context(), ref, back, image.Options{})))
	e2e.Equal(t, "the pulled file is the pushed one", e2e.ReadFile(t, pushed), e2e.ReadFile(t, back))
}

func isAt(t *testing.T, ref name.Tag, want xpkg.Artifact) bool {
	t.Helper()
	h := e2e.Must(want.Digest())(t)
	desc, err := ggcr.Head(ref)
	return err == nil && desc.Digest == h
}
