package runtimeimage_test

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// FromEngine finds an image by name and by id, and returns the image that was loaded.
func TestFromEngine(t *testing.T) {
	engine := dockerenginetest.Open(t)
	given := dockerenginetest.Image(t, []byte(strings.Repeat("program", 1<<20)), func(f *v1.ConfigFile) { f.Config.User = "65532" })
	const name = "xfn.test/runtime:v1"
	dockerenginetest.Load(t, engine, name, given)
	id := e2e.Must(given.ConfigName())(t)
	temp := t.TempDir()
	var digests []v1.Hash
	for _, asked := range []string{name, id.String(), id.Hex[:12]} {
		var last progress.Event
		images, err := runtimeimage.FromEngine(t.Context(), engine, asked, runtimeimage.Options{TempDir: temp, Progress: func(e progress.Event) {
			if e.Kind == progress.Bytes {
				last = e
			}
		}})
		if err != nil || len(images.All) != 1 {
			t.Fatalf("%s: got %v, %v", asked, images, err)
		}
		img := images.All[0]
		e2e.WantError(t, asked+" is a valid image", validate.Image(img), "")
		if last.Text != "reading "+asked || last.Done < 7<<20 || last.Done != last.Total {
			t.Errorf("%s: the last event is %+v", asked, last)
		}
		e2e.Equal(t, asked+" is the image of the engine", id, e2e.Must(img.ConfigName())(t))
		digests = append(digests, e2e.Must(img.Digest())(t))
		e2e.NoError(t, images.Close())
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("got %v", digests)
	}
	_, err := runtimeimage.FromEngine(t.Context(), engine, "xfn.test/none:v1", runtimeimage.Options{TempDir: temp})
	if want := `reading a runtime image from the engine: the engine does not have image "xfn.test/none:v1"`; err == nil || err.Error() != want || !strings.Contains(string(hint.Of(err)), "docker pull xfn.test/none:v1") {
		t.Errorf("got %v, hint %q", err, hint.Of(err))
	}
	e2e.Empty(t, temp)
}
