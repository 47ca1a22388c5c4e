package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// The memory for untrusted archives is limited.
func TestOpenBounds(t *testing.T) {
	many := make([]member, 20_001)
	for i := range many {
		many[i] = member{name: fmt.Sprint(i)}
	}
	// Two manifests that are more than 64 MiB together.
	var descs []string
	var blobs []member
	for _, size := range []int{1 << 20, 63 << 20} {
		text := `{"schemaVersion":2,"manifests":[]` + strings.Repeat(" ", size) + `}`
		descs, blobs = append(descs, desc(indexType, text)), append(blobs, blob(text))
	}
	idx := `{"schemaVersion":2,"manifests":[` + strings.Join(descs, ",") + `]}`
	cases := map[string]struct {
		reason string
		data   []byte
		want   string
	}{
		"Entries":  {"the number of entries is limited", tarOf(t, many...), "more than 20000 entries"},
		"Metadata": {"the size of manifests and configs is limited", tarOf(t, layoutOf(desc(indexType, idx), append(blobs, blob(idx))...)...), "larger than 64 MiB"},
		"Sparse":   {"a sparse file is an error", sparse(t), "is a sparse file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(archive.Open(t.Context(), file(t, tc.data))), tc.want)
		})
	}
}

// sparse returns a tar whose index.json is sparse, in GNU's format 0.1 of PAX.
func sparse(t *testing.T) []byte {
	t.Helper()
	records := ""
	for _, r := range []string{"GNU.sparse.size=1000000", "GNU.sparse.numblocks=1", "GNU.sparse.map=0,1"} {
		records += fmt.Sprintf("%d %s\n", len(r)+4, r)
	}
	data := tarOf(t, member{name: "PaxHeaders/index.json", text: records}, member{name: "index.json", text: "{"})
	data[156] = tar.TypeXHeader
	return checksum(data)
}

// checksum makes the first header of a tar valid again.
func checksum(data []byte) []byte {
	copy(data[148:156], "        ")
	sum := 0
	for _, b := range data[:512] {
		sum += int(b)
	}
	copy(data[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return data
}

// Layers of a Docker archive keep their compression and their digest.
func TestOpenDockerLayerTypes(t *testing.T) {
	layer := tarOf(t, member{name: "a", text: "b"})
	var zipped bytes.Buffer
	zw := e2e.Must(zstd.NewWriter(&zipped))(t)
	e2e.Must(zw.Write(layer))(t)
	e2e.NoError(t, zw.Close())
	cases := map[string]struct {
		reason, stored string
		want           types.MediaType
	}{
		"Plain": {"a plain tar, as docker save writes it, is accepted", string(layer), types.OCIUncompressedLayer},
		"Zstd":  {"a compressed layer, as newer tools write it, is accepted", zipped.String(), types.OCILayerZStd},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := `{"rootfs":{"type":"layers","diff_ids":["sha256:` + sha(string(layer)) + `"]}}`
			f := open(t, file(t, tarOf(t,
				member{name: "manifest.json", text: `[{"Config":"c","Layers":["l"]}]`},
				member{name: "c", text: config}, member{name: "l", text: tc.stored})))
			layers := e2e.Must(f.Artifact.(v1.Image).Layers())(t)
			got, err := oneDescriptor(layers)
			if err != nil || got.MediaType != tc.want || got.Digest.Hex != sha(tc.stored) || got.Size != int64(len(tc.stored)) {
				t.Errorf("%s: got %v, %v", tc.reason, got, err)
			}
			e2e.Equal(t, tc.reason+": the content of the layer", layer, e2e.Must(io.ReadAll(e2e.Must(layers[0].Uncompressed())(t)))(t))
		})
	}
}

func oneDescriptor(layers []v1.Layer) (*v1.Descriptor, error) {
	if len(layers) != 1 {
		return nil, errors.New("want one layer")
	}
	return partial.Descriptor(layers[0])
}

// If several files in a tar have one name, the last file is used, as tar does.
func TestOpenUsesTheLast(t *testing.T) {
	docker := func(text string) member { return member{name: "manifest.json", text: text} }
	config := member{name: "c", text: `{"rootfs":{"type":"layers","diff_ids":[]}}`}
	f := open(t, file(t, tarOf(t, docker("not JSON"), config, docker(`[{"Config":"c"}]`))))
	e2e.Equal(t, "the last manifest.json is used", 0, len(e2e.Must(f.Artifact.(v1.Image).Layers())(t)))
}
