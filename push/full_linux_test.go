package push_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

// If the disk of a registry is full during a push, the tag still points to the old
// package. When space is free again, xfn's registry accepts the new package. Docker's
// registry may have stored an empty link to a layer, and then always returns 500.
func TestFullDisk(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(t *testing.T, dir string) string
		says  string
		heals bool
	}{
		"ours": {func(t *testing.T, dir string) string {
			reg := e2e.Open(registry.Open(dir))(t)
			return remotetest.Serve(t, reg)
		}, "answered 507 Insufficient Storage", true},
		"docker-registry": {func(t *testing.T, dir string) string {
			return remotetest.Distribution{Dir: filepath.Join(dir, "registry")}.Start(t)
		}, "answered 500 Internal Server Error", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Disk(t, "32m")
			ref := parse(t, tc.serve(t, dir))
			before := single(t)
			e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, before, push.Options{})))
			filler := filepath.Join(dir, "filler")
			e2e.NoError(t, os.WriteFile(filler, make([]byte, 28<<20), 0o600))
			after, err := random.Image(3<<19, 3)
			e2e.NoError(t, err)
			_, err = push.Artifact(t.Context(), ref, after, fast())
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.HasSuffix(err.Error(), `tag "v1.0.0" was not changed`) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
			checkTag(t, ref, before)
			if !tc.heals {
				return
			}
			e2e.NoError(t, os.Remove(filler))
			e2e.WantError(t, "a push succeeds after space is free again", e2e.Err(push.Artifact(t.Context(), ref, after, fast())), "")
			checkTag(t, ref, after)
		})
	}
}
