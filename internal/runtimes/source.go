package runtimes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/xfn-dev/xfn/internal/image/lock"
)

// IsSource reports whether a package is a path, as lock.IsPath says, of a folder with source
// code, and not of a folder with an OCI image layout. A folder with the name of an image
// reference must not replace the image.
func IsSource(path string) bool {
	if !lock.IsPath(path) {
		return false
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(path, "oci-layout"))
	return err != nil
}

// buildTimeout limits a build of a function from source. The first build on a slow machine
// compiles all dependencies and may download them.
const buildTimeout = 10 * time.Minute

// WithBuildTimeout returns a copy of ctx for one build of a function from source. The caller
// must call built when the build has ended.
func WithBuildTimeout(ctx context.Context) (_ context.Context, built context.CancelFunc) {
	ended, _ := ctx.Value(builtKey{}).(func())
	ctx, cancel := context.WithTimeoutCause(ctx, buildTimeout, fmt.Errorf("the build timed out after %s", buildTimeout))
	return ctx, func() {
		cancel()
		if ended != nil {
			ended()
		}
	}
}

type builtKey struct{}

// OnBuilt returns a copy of ctx with which a start of a function from source calls do after the
// build.
func OnBuilt(ctx context.Context, do func()) context.Context {
	return context.WithValue(ctx, builtKey{}, do)
}
