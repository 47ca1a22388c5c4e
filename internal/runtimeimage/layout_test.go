package runtimeimage_test

import (
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// FromLayout reads all images of an OCI layout with their layers, whether the layout has
// images, indexes or nested indexes.
func TestFromLayout(t *testing.T) {
	a, b := image(t, "amd64"), image(t, "arm64")
	cases := map[string]struct {
		reason, dir string
		want        []v1.Image
	}{
		"Image":   {"a layout can have one image", remotetest.Layout(t, a), []v1.Image{a}},
		"Index":   {"a layout can have one index", remotetest.Layout(t, remotetest.Index(a, b)), []v1.Image{a, b}},
		"Several": {"a layout can have several images", remotetest.Layout(t, a, b), []v1.Image{a, b}},
		"Nested":  {"a layout can have nested indexes", remotetest.Layout(t, remotetest.Index(remotetest.Index(a, b))), []v1.Image{a, b}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			images := e2e.Must(runtimeimage.FromLayout(t.Context(), tc.dir, options(t)))(t)
			assertImages(t, images.All, tc.want...)
			e2e.NoError(t, images.Close())
		})
	}
}

func assertImages(t *testing.T, got []v1.Image, want ...v1.Image) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d images, want %d", len(got), len(want))
	}
	for i, img := range got {
		e2e.NoError(t, validate.Image(img))
		assertSameLayers(t, img, want[i])
	}
}

func TestFromLayoutRefuses(t *testing.T) {
	missing := remotetest.Layout(t, image(t, "amd64"))
	blobs := e2e.Glob(t, filepath.Join(missing, "blobs/sha256/*"))
	e2e.NoError(t, os.Remove(blobs[0]))
	cases := map[string]struct{ reason, dir, want string }{
		"NoLayout": {"a directory without oci-layout is an error", t.TempDir(), "no oci-layout"},
		"Missing":  {"a missing blob is an error", missing, "sha256:" + filepath.Base(blobs[0]) + " is missing"},
		"NoImage":  {"an empty layout is an error", remotetest.Layout(t), "lists no image"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := runtimeimage.FromLayout(t.Context(), tc.dir, options(t))
			assertSentence(t, tc.reason, err, tc.want, tc.dir)
		})
	}
}

func TestPlatforms(t *testing.T) {
	arm := func(variant string) v1.Platform {
		return v1.Platform{OS: "linux", Architecture: "arm", Variant: variant}
	}
	variant := func(v string) v1.Image {
		img := image(t, "arm")
		config := e2e.Must(img.ConfigFile())(t)
		config.Variant = v
		return e2e.Must(mutate.ConfigFile(img, config))(t)
	}
	a, b, v6, v7 := image(t, "amd64"), image(t, "arm64"), variant("v6"), variant("v7")
	s390x := v1.Platform{OS: "linux", Architecture: "s390x"}
	cases := map[string]struct {
		reason string
		there  []v1.Image
		only   []v1.Platform
		want   []v1.Image
		err    string
	}{
		"All":     {"without platforms all images are returned", []v1.Image{a, b}, nil, []v1.Image{a, b}, ""},
		"One":     {"one platform returns one image", []v1.Image{a, b}, []v1.Platform{arm64}, []v1.Image{b}, ""},
		"Order":   {"images are in the order of platforms", []v1.Image{a, b}, []v1.Platform{arm64, amd64}, []v1.Image{b, a}, ""},
		"Variant": {"an exact variant is preferred", []v1.Image{v6, v7}, []v1.Platform{arm("v6")}, []v1.Image{v6}, ""},
		"Highest": {"arm without a variant is v7", []v1.Image{v6, v7}, []v1.Platform{arm("")}, []v1.Image{v7}, ""},
		"Lower":   {"an image for v6 runs on v7", []v1.Image{v6}, []v1.Platform{arm("v7")}, []v1.Image{v6}, ""},
		"Both":    {"one image can fit two platforms", []v1.Image{v6}, []v1.Platform{arm("v6"), arm("v7")}, []v1.Image{v6}, ""},
		"None":    {"a missing platform is an error that lists the others", []v1.Image{a, b}, []v1.Platform{s390x}, nil, "there is no image for linux/s390x, only for linux/amd64, linux/arm64"},
		"Two":     {"two images for one platform are an error", []v1.Image{a, image(t, "amd64")}, []v1.Platform{amd64}, nil, "two images for linux/amd64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var all []mutate.Appendable
			for _, img := range tc.there {
				all = append(all, img)
			}
			opts := options(t)
			opts.Platforms = tc.only
			images, err := runtimeimage.FromLayout(t.Context(), remotetest.Layout(t, all...), opts)
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.err)
				return
			}
			e2e.NoError(t, err)
			defer images.Close()
			assertImages(t, images.All, tc.want...)
		})
	}
}
