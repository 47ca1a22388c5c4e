package image_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A raw is a manifest or another blob with any text.
type raw struct {
	text      string
	mediaType types.MediaType
}

func (r raw) RawManifest() ([]byte, error)        { return []byte(r.text), nil }
func (r raw) MediaType() (types.MediaType, error) { return r.mediaType, nil }
func (r raw) digest() string                      { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(r.text))) }

const (
	configOf = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":"` + zeros + `"},"layers":[%s]%s}`
	aLayer   = `{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":1,"digest":"` + zeros + `"}`
	zeros    = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

func imageOf(config int64, layers int, padding string) raw {
	list := strings.TrimSuffix(strings.Repeat(aLayer+",", layers), ",")
	return raw{fmt.Sprintf(configOf, config, list, padding), types.OCIManifestSchema1}
}

// small returns an image whose config, "{}", is embedded in its manifest.
func small() raw {
	img := imageOf(2, 0, "")
	img.text = strings.Replace(img.text, zeros, raw{text: "{}"}.digest()+`","data":"e30=`, 1)
	return img
}

// indexOf returns an index that lists a child several times.
func indexOf(child raw, times int) raw {
	desc := fmt.Sprintf(`{"mediaType":%q,"size":%d,"digest":%q}`, child.mediaType, len(child.text), child.digest())
	list := strings.TrimSuffix(strings.Repeat(desc+",", times), ",")
	return raw{fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[%s]}`, types.OCIImageIndex, list), types.OCIImageIndex}
}

// The size and number of a package's manifests, configs and layers are checked before they
// are fetched.
func TestHostile(t *testing.T) {
	large := imageOf(100<<20, 0, "")
	big := raw{text: "{}" + strings.Repeat(" ", 40<<20)}
	bigDigest := big.digest()
	heavy := imageOf(int64(len(big.text)), 0, "")
	heavy.text = strings.Replace(heavy.text, zeros, bigDigest, 1)
	twin := raw{strings.Replace(heavy.text, "{", `{"x":1,`, 1), heavy.mediaType}
	both := indexOf(heavy, 2)
	both.text = strings.Replace(both.text, heavy.digest(), twin.digest(), 1)
	both.text = strings.Replace(both.text, fmt.Sprint(len(heavy.text)), fmt.Sprint(len(twin.text)), 1)
	child := small()
	deep := []raw{child}
	for range 6 {
		deep = append(deep, indexOf(deep[len(deep)-1], 1))
	}
	lying := raw{strings.Replace(indexOf(child, 1).text, `"size":`, `"size":-`, 1), types.OCIImageIndex}
	cases := map[string]struct {
		reason    string
		manifests []raw
		err       string
		blobs     int
	}{
		"Config":       {"a config of 2 GiB", []raw{imageOf(2<<30, 0, "")}, "larger than 63 MiB", 0},
		"UnknownSize":  {"a size of -1 is an error, because it has no limit in the library", []raw{imageOf(-1, 0, "")}, "impossible size of -1", 0},
		"ChildConfig":  {"a config of an index's image", []raw{large, indexOf(large, 1)}, "larger than 63 MiB", 0},
		"Together":     {"the total size of configs is limited", []raw{heavy, twin, both}, "larger than 63 MiB", 1},
		"Layers":       {"the number of layers is limited", []raw{imageOf(1, 10_001, "")}, "more than 10000 manifests, configs and layers", 0},
		"Deep":         {"the nesting of indexes is limited", deep, "nested more than 4 deep", 0},
		"OtherSize":    {"a wrong descriptor of a child is an error", []raw{child, lying}, "is negative", 0},
		"EmptyIndex":   {"an empty index is an error", []raw{indexOf(child, 0)}, "the package contains no image", 0},
		"LargeItself":  {"the size of a manifest is limited", []raw{imageOf(1, 0, `,"x":"`+strings.Repeat("x", 4<<20)+`"`)}, "more than 4 MiB", 0},
		"NotAManifest": {"an invalid manifest is an error", []raw{{`{"layers":1}`, types.OCIManifestSchema1}}, "reading a manifest", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "Together" || name == "Layers" || name == "LargeItself") {
				t.Skip("it decodes megabytes of JSON")
			}
			requests := remotetest.Record(remotetest.Faults(remotetest.Handler(), 99, "/blobs/"+bigDigest, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, big.text)
			}))
			ref := parse(t, remotetest.Serve(t, requests))
			for _, m := range tc.manifests {
				e2e.NoError(t, ggcr.Put(ref.Digest(m.digest()), m))
			}
			e2e.NoError(t, ggcr.Put(ref, tc.manifests[len(tc.manifests)-1]))
			_, err := image.File(t.Context(), ref, filepath.Join(t.TempDir(), "p.xpkg"), image.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), `pulling "`+ref.Name()+`": `) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %q in it", tc.reason, err, tc.err)
			}
			e2e.Equal(t, tc.reason+": requests for blobs", tc.blobs, len(requests.Find("/blobs/")))
		})
	}
}

// An image that is not a package is not written.
func TestNoPackage(t *testing.T) {
	img := e2e.Must(random.Image(100, 1))(t)
	for reason, a := range map[string]ggcr.Taggable{
		"an image":          img,
		"an index of image": mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}}),
	} {
		ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
		e2e.NoError(t, ggcr.Push(ref, a))
		dir := t.TempDir()
		_, err := image.File(t.Context(), ref, filepath.Join(dir, "p.xpkg"), image.Options{})
		e2e.Equal(t, reason, `pulling "`+ref.Name()+`": the image is not a package: it contains no package.yaml`, fmt.Sprint(err))
		e2e.Empty(t, dir)
	}
}
