package imagefile_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/runtimes/process/imagefile"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

// TestExtractChecksTheDigest changes one byte of the layer that has the file:
// in the file, or in another behind it.
func TestExtractChecksTheDigest(t *testing.T) {
	good := pack(t, file("fn", "program"), file("other", "more"))
	digest, size, err := v1.SHA256(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]string{"File": "program", "Behind": "more"} {
		t.Run(name, func(t *testing.T) {
			bad := bytes.Replace(good, []byte(of), bytes.ToUpper([]byte(of)), 1)
			l, err := oci.Layer(bytes.NewReader(bad), oci.Blob{Digest: digest, Size: size, DiffID: digest, MediaType: types.OCIUncompressedLayer})
			if err != nil {
				t.Fatal(err)
			}
			img, err := mutate.AppendLayers(empty.Image, l)
			if err != nil {
				t.Fatal(err)
			}
			err = imagefile.Extract(t.Context(), img, "/fn", filepath.Join(t.TempDir(), "fn"))
			if err == nil || !strings.Contains(err.Error(), "has other content than its digest says") {
				t.Errorf("got %v", err)
			}
		})
	}
}
