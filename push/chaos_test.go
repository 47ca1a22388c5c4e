package push_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// canary is a password, which no output may contain. Tokens contain it, too.
const canary = "s3cret"

// kinds are the faults of a faultProxy.
var kinds = []string{
	"drop", "late", "busy", "truncate", "cut", "stall", "delay", "expire", "lie", "absent", "present", "elsewhere", "redirect",
	"token", "full", "readonly", "forbidden", "shut",
}

// Whatever a registry and a network do, a push writes the new package to the
// tag, or fails and leaves the old one. It shows no password.
func TestChaos(t *testing.T) {
	chaos(t, func(t *testing.T) http.Handler { return remotetest.Embedded(t) })
}

// TestChaosOfDistribution is TestChaos with Docker's registry.
func TestChaosOfDistribution(t *testing.T) {
	host := remotetest.Registry(t)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	chaos(t, func(*testing.T) http.Handler { return proxy })
}

func chaos(t *testing.T, open func(*testing.T) http.Handler) {
	t.Helper()
	after, cert := stored(t), remotetest.NewCertificate(t)
	remotetest.Seeds(t, kinds, func(t *testing.T, seed uint64) (map[string]int, error) {
		return newTrial(t, seed, open(t), cert).push(t, after)
	})
}

// stored returns an image with two layers of 1.25 MiB, which are read from files. Layers of
// package random would be compressed again for each upload.
func stored(t *testing.T) v1.Image {
	t.Helper()
	made := e2e.Must(random.Image(5<<18, 2))(t)
	path := e2e.Must(layout.FromPath(remotetest.Layout(t, made)))(t)
	h := e2e.Must(made.Digest())(t)
	return e2e.Must(path.Image(h))(t)
}

// A trial is a push through a proxy that injects faults.
type trial struct {
	seed uint64
	// direct is the tag's reference without the proxy, through that with the proxy.
	direct, through name.Tag
	proxy           *faultProxy
	client          *remote.Client
}

// newTrial sets up a trial from a seed: authentication and TLS of the registry,
// the rate of faults, and the final state of the registry.
func newTrial(t *testing.T, seed uint64, reg http.Handler, cert *remotetest.Certificate) trial {
	t.Helper()
	serve, scheme := func(h http.Handler) string { return remotetest.Serve(t, h) }, "http"
	options := remote.Options{
		Keychain: keychain{"gold", canary},
		Tries:    5,
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if seed%3 == 0 {
		serve, scheme = func(h http.Handler) string { return cert.Serve(t, h) }, "https"
		options.RootCAs = roots(t, cert)
	}
	proxy := &faultProxy{
		Direct: reg, Storage: scheme + "://" + serve(stranger(t, reg)),
		RetryAfter: "1",
		Rate:       []float64{0.05, 0.15, 0.3, 0.5}[seed%4],
		Fate:       map[uint64]string{3: "full", 8: "readonly", 13: "forbidden", 18: "shut"}[seed%20], FateAt: int(4 + seed/20%6),
	}
	proxy.Next = remotetest.BasicAuth(reg, "gold", canary)
	if seed%2 == 0 {
		proxy.Tokens = newTokenServer(reg, "gold", canary)
		proxy.Next = proxy.Tokens
	}
	if seed%5 == 0 {
		proxy.Slow, options.IdleTimeout = 2, 300*time.Millisecond
	}
	proxy.Begin(seed)
	path := fmt.Sprintf("gold/package-%d:v1.0.0", seed)
	return trial{
		seed: seed, proxy: proxy, client: remote.New(options),
		direct: parsePath(t, remotetest.Serve(t, reg), path), through: parsePath(t, serve(proxy), path),
	}
}

func parsePath(t *testing.T, host, path string) name.Tag {
	t.Helper()
	return e2e.Must(remote.ParseTag(path, host))(t)
}

// stranger is another host, which must not receive credentials.
func stranger(t *testing.T, reg http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || strings.Contains(fmt.Sprint(r.Header, r.URL), canary) {
			t.Error("another host gets credentials")
		}
		reg.ServeHTTP(w, r)
	})
}

// push pushes an image over another one and checks the result. It returns the
// number of faults of each kind and the error of the push.
func (tr trial) push(t *testing.T, after v1.Image) (map[string]int, error) {
	t.Helper()
	before := single(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), tr.direct, before, push.Options{})))
	var mu sync.Mutex
	var told strings.Builder
	_, err := push.Artifact(t.Context(), tr.through, after, push.Options{Transport: tr.client, Progress: func(text string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&told, text, done, total)
	}})
	done := tr.proxy.End()
	checkResult(t, tr.direct, before, after, err)
	if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "registry ")) {
		t.Errorf("unclear: %v", err)
	}
	if text := fmt.Sprint(&told, err, hint.Of(err)); strings.Contains(text, canary) {
		t.Errorf("the output contains a password: %s", text)
	}
	return done, err
}

// checkResult fails unless a tag is at the complete new package, or at the old one after an error.
func checkResult(t *testing.T, ref name.Tag, before, after xpkg.Artifact, err error) {
	t.Helper()
	want := before
	if err == nil || strings.Contains(err.Error(), "may be at the old or the new package") && isAt(t, ref, after) {
		want = after
	}
	checkTag(t, ref, want)
	at := e2e.Must(ggcr.Image(ref))(t)
	e2e.WantError(t, "the package at the tag is broken", validate.Image(at), "")
}
