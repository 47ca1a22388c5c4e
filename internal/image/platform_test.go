package image_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func TestPlatforms(t *testing.T) {
	cases := map[string]struct {
		reason         string
		there          []string
		want, got, err string
	}{
		"Exact":        {reason: "the requested platform is chosen", there: []string{"linux/amd64", "linux/arm64"}, want: "linux/arm64", got: "linux/arm64"},
		"First":        {reason: "the first of equal platforms is chosen", there: []string{"windows/amd64", "linux/amd64"}, want: "linux/amd64", got: "linux/amd64"},
		"UsualVariant": {reason: "arm64 without a variant means v8", there: []string{"linux/arm64/v8"}, want: "linux/arm64", got: "linux/arm64/v8"},
		"NoVariant":    {reason: "an image for arm64 runs on arm64/v8", there: []string{"linux/arm64"}, want: "linux/arm64/v8", got: "linux/arm64"},
		"Highest":      {reason: "the highest compatible variant is chosen", there: []string{"linux/arm/v5", "linux/arm/v7", "linux/arm/v6"}, want: "linux/arm", got: "linux/arm/v7"},
		"NotHigher":    {reason: "an incompatible variant is not chosen", there: []string{"linux/arm/v5", "linux/arm/v7"}, want: "linux/arm/v6", got: "linux/arm/v5"},
		"Newer":        {reason: "an image for a newer processor is an error", there: []string{"linux/amd64/v3"}, want: "linux/amd64", err: "there is no image for linux/amd64, only for linux/amd64/v3"},
		"Odd":          {reason: "variants without an order must be equal", there: []string{"linux/mips/soft", "linux/mips/hard"}, want: "linux/mips/hard", got: "linux/mips/hard"},
		"OddOther":     {reason: "different variants without an order are incompatible", there: []string{"linux/mips/soft", "linux/mips/x"}, want: "linux/mips/hard", err: "only for linux/mips/soft, linux/mips/x"},
		"None":         {reason: "the error names all platforms", there: []string{"linux/amd64", "windows/amd64"}, want: "linux/s390x", err: "there is no image for linux/s390x, only for linux/amd64, windows/amd64"},
		"System":       {reason: "an image for another system is an error", there: []string{"windows/amd64"}, want: "linux/amd64", err: "only for windows/amd64"},
		"Attestation":  {reason: "attestations are ignored", there: []string{"unknown/unknown", "linux/amd64"}, want: "linux/amd64", got: "linux/amd64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
			e2e.NoError(t, ggcr.Push(tag, indexFor(t, tc.there...)))
			img, err := openStore(t, t.TempDir()).Image(t.Context(), on(tag, tc.want, t), quick())
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || hint.Of(err) == "" || !errors.As(err, new(*image.PlatformError)) {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.got, e2e.Must(img.ConfigFile())(t).Platform().String())
		})
	}
}

// If an index does not list the platforms, they are read from the images' configs. The
// index may contain other indexes, and artifacts that are not images.
func TestPlatformsOfConfigs(t *testing.T) {
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	want := imageFor(t, "linux/arm64")
	signature := mutate.ConfigMediaType(imageFor(t, "linux/arm64"), "application/vnd.example.signature+json")
	idx := remotetest.Index(signature, imageFor(t, "linux/amd64"), mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: want}))
	e2e.NoError(t, ggcr.Push(tag, idx))
	s := openStore(t, t.TempDir())
	for _, o := range []image.Options{quick(), offline()} {
		same(t, e2e.Must(s.Image(t.Context(), on(tag, "linux/arm64", t), o))(t), want)
	}
	e2e.ErrorHas(t, "the error lists the platforms in the images' configs", e2e.Err(s.Image(t.Context(), on(tag, "linux/s390x", t), quick())), "only for linux/amd64, linux/arm64")
}

// An image without an index must have the requested platform, or no platform.
func TestPlatformOfAnImage(t *testing.T) {
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	e2e.NoError(t, ggcr.Write(tag, imageFor(t, "linux/s390x")))
	s := openStore(t, t.TempDir())
	e2e.ErrorHas(t, "the error has the platform of the image", e2e.Err(s.Image(t.Context(), on(tag, "linux/amd64", t), quick())), "only for linux/s390x")
	img := e2e.Must(random.Image(10, 1))(t)
	e2e.NoError(t, ggcr.Write(tag, img))
	same(t, e2e.Must(s.Image(t.Context(), on(tag, "linux/amd64", t), quick()))(t), img)
}
