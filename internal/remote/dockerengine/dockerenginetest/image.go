package dockerenginetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// childLayer returns a layer with the program of functiontest.BuildChild. The layer is
// built once.
var childLayer = sync.OnceValues(func() (v1.Layer, error) {
	program, err := functiontest.BuildChild()
	if err != nil {
		return nil, err
	}
	return layerOf(program)
})

func layerOf(program []byte) (v1.Layer, error) {
	layer, err := remotetest.Tar(map[string][]byte{"function": program})
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil },
		tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestSpeed))
}

// Function returns the image of a function with this behavior. change edits the config of
// the image.
func Function(t testing.TB, b functiontest.Behavior, change func(*v1.ConfigFile)) v1.Image {
	t.Helper()
	layer, err := childLayer()
	if err != nil {
		t.Fatalf("building the function: %v", err)
	}
	return image(t, layer, func(f *v1.ConfigFile) {
		f.Config.Entrypoint = append(f.Config.Entrypoint, functiontest.ChildArgs(b, "")...)
		if change != nil {
			change(f)
		}
	})
}

// Image returns an image for the host's architecture that runs a program. change edits
// the config of the image.
func Image(t testing.TB, program []byte, change func(*v1.ConfigFile)) v1.Image {
	t.Helper()
	return image(t, e2e.Must(layerOf(program))(t), change)
}

func image(t testing.TB, layer v1.Layer, change func(*v1.ConfigFile)) v1.Image {
	t.Helper()
	img := e2e.Must(mutate.AppendLayers(empty.Image, layer))(t)
	file := e2e.Must(img.ConfigFile())(t)
	file.OS, file.Architecture, file.Config.Entrypoint = "linux", runtime.GOARCH, []string{"/function"}
	change(file)
	return e2e.Must(mutate.ConfigFile(img, file))(t)
}

// Load loads an image into an engine under a name, and removes the image at the end of
// the test.
func Load(t testing.TB, e *dockerengine.Engine, as string, img v1.Image) {
	t.Helper()
	e2e.NoError(t, e.Load(t.Context(), e2e.Must(name.NewTag(as))(t), img))
	Forget(t, e, as)
}

// Forget removes an image from an engine at the end of the test, if it exists.
func Forget(t testing.TB, e *dockerengine.Engine, name string) {
	t.Helper()
	t.Cleanup(func() {
		// Ignore an error: the test may not have pulled the image.
		_, _ = e.ImageRemove(context.WithoutCancel(t.Context()), name, client.ImageRemoveOptions{Force: true, PruneChildren: true})
	})
}
