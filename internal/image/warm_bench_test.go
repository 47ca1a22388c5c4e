package image_test

import (
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// BenchmarkWarm measures Store.Image for an image that is complete in the cache. The time
// must not depend on the size of the image.
func BenchmarkWarm(b *testing.B) {
	tag := parse(b, remotetest.Serve(b, remotetest.Handler()))
	e2e.NoError(b, ggcr.Push(tag, indexFor(b, "linux/amd64", "linux/arm64")))
	dir := b.TempDir()
	r := on(tag, "linux/amd64", b)
	e2e.Must(openStore(b, dir).Image(b.Context(), r, quick()))(b)
	for b.Loop() {
		s := e2e.Must(image.Open(dir))(b)
		e2e.Must(s.Image(b.Context(), r, offline()))(b)
		e2e.NoError(b, s.Close())
	}
}
