package push_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// Whatever two registries and their networks do, a copy writes the complete new
// package to the tag, or fails and leaves the old one.
func TestCopyChaos(t *testing.T) {
	after, src := stored(t), remotetest.Handler()
	e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, src)), after))
	s := newShelf(t, remotetest.Serve(t, src))
	h := e2e.Must(after.Digest())(t)
	s.cosign(object{"digest": h.String()}, ".sig")
	kinds := []string{"drop", "busy", "truncate", "short", "flip", "stall", "elsewhere", "whole", "late", "cut", "expire", "lie", "absent", "present"}
	remotetest.Seeds(t, kinds, func(t *testing.T, seed uint64) (map[string]int, error) {
		return copyChaos(t, seed, src, s, after)
	})
}

func copyChaos(t *testing.T, seed uint64, src http.Handler, s *shelf, after xpkg.Artifact) (map[string]int, error) {
	t.Helper()
	dst := remotetest.Embedded(t)
	direct := parse(t, remotetest.Serve(t, dst))
	before := single(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), direct, before, fast())))
	elsewhere := func(h http.Handler) string { return remotetest.Serve(t, remotetest.Stranger(t, h)) }
	rate := []float64{0.1, 0.2, 0.35, 0.5}[seed%4]
	up := &faultProxy{Next: remotetest.BasicAuth(dst, "to", "t0ps3cret"), Direct: dst, Storage: "http://" + elsewhere(dst), Rate: rate, RetryAfter: "1"}
	up.Begin(seed)
	down := remotetest.NewDownloads(remotetest.BasicAuth(src, "from", "fr0ms3cret"), seed, rate, elsewhere(src))
	from, to := parse(t, remotetest.Serve(t, down)), parse(t, remotetest.Serve(t, up))
	o := push.CopyOptions{Options: push.Options{Transport: remote.New(remote.Options{
		Keychain:    keys{from.RegistryStr(): {"from", "fr0ms3cret"}, to.RegistryStr(): {"to", "t0ps3cret"}},
		Tries:       5,
		IdleTimeout: 300 * time.Millisecond,
		Sleep:       func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})}}
	_, copyErr := push.Copy(t.Context(), from, to, o)
	done := up.End()
	for kind, n := range down.Done() {
		done[kind] += n
	}
	checkResult(t, direct, before, after, copyErr)
	if copyErr == nil {
		s.check(direct.Context(), nil)
	} else {
		text := copyErr.Error()
		if strings.Contains(text, "\n") || strings.Contains(text, "s3cret") || !strings.Contains(text, "registry ") && !strings.Contains(text, "than its digest says") {
			t.Errorf("unclear: %v", copyErr)
		}
	}
	return done, copyErr
}
