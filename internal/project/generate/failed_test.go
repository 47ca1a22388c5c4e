package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// After an interrupt, Init can be called again for the same directory.
func TestInitAfterAnInterrupt(t *testing.T) {
	parent := t.TempDir()
	for name, own := range map[string][]string{"fresh": nil, "repository": {".git"}} {
		dir := filepath.Join(parent, name)
		for _, folder := range own {
			e2e.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
		}
		o := generate.InitOptions{Dir: dir, Name: "demo", Repository: "registry.example.org/acme/demo"}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := generate.Init(ctx, o)
		e2e.ErrorIs(t, name+": a canceled generation is an error", err, context.Canceled)
		if _, err := os.Stat(dir); (err == nil) != (own != nil) {
			t.Errorf("%s: the directory itself: %v", name, err)
		}
		if own != nil {
			e2e.Equal(t, name+": what is left", own, e2e.Names(t, dir))
		}
		e2e.Must(generate.Init(t.Context(), o))(t)
	}
}
