package push_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

// Whatever a registry and a network do, a push ends with the new package at the
// tag, or says that it failed and leaves the old one.
func TestChaos(t *testing.T) {
	const runs = 200
	seeds := uint64(runs)
	if testing.Short() {
		seeds = 20
	}
	after, err := random.Image(5<<18, 2)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	harm, failed := map[string]int{}, 0
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				done, err := chaos(t, seed, after)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				}
				for kind, n := range done {
					harm[kind] += n
				}
			})
		}
	})
	t.Logf("%d of %d pushes failed, after %v", failed, seeds, harm)
	for _, kind := range []string{"drop", "late", "busy", "truncate", "cut", "expire", "lie", "absent", "present", "elsewhere"} {
		if harm[kind] == 0 && seeds == runs {
			t.Errorf("nothing was tested of %q", kind)
		}
	}
	if seeds == runs && (failed == 0 || failed > runs/2) {
		t.Errorf("%d of %d pushes failed, which tests too little", failed, seeds)
	}
}

// chaos pushes through a proxy that does harm, and checks what came of it.
func chaos(t *testing.T, seed uint64, after v1.Image) (map[string]int, error) {
	t.Helper()
	sessions := remotetest.NewSessions(remotetest.Handler())
	registry := remotetest.Strict(sessions)
	direct := parse(t, remotetest.Serve(t, registry))
	before := single(t)
	if _, err := push.Artifact(t.Context(), direct, before, push.Options{}); err != nil {
		t.Fatal(err)
	}
	storage := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host gets credentials")
		}
		sessions.ServeHTTP(w, r)
	}))
	rate := []float64{0.05, 0.15, 0.3, 0.5}[seed%4]
	proxy := remotetest.NewChaos(remotetest.BasicAuth(registry, "gold", "s3cret"), seed, rate, sessions.Expire, storage)
	client := remote.New(remote.Options{
		Keychain: keychain{"gold", "s3cret"},
		Tries:    5,
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	_, pushErr := push.Artifact(t.Context(), parse(t, remotetest.Serve(t, proxy)), after, push.Options{Remote: client})
	want := before
	if pushErr == nil || strings.Contains(pushErr.Error(), "may be at the old or the new package") && isAt(t, direct, after) {
		want = after
	}
	checkTag(t, direct, want)
	desc, err := ggcr.Image(direct)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(desc); err != nil {
		t.Errorf("the package at the tag is broken: %v", err)
	}
	if pushErr != nil && (strings.Contains(pushErr.Error(), "\n") || strings.Contains(pushErr.Error(), "s3cret") || !strings.Contains(pushErr.Error(), "registry ")) {
		t.Errorf("unclear: %v", pushErr)
	}
	return maps.Clone(proxy.Done), pushErr
}
