package archive_test

import (
	"bytes"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// Wherever writing stopped, what is there of each blob is where it will be.
func TestReadPartial(t *testing.T) {
	img, err := random.Image(3000, 3)
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := archive.Write(t.Context(), &whole, img, "", nil); err != nil {
		t.Fatal(err)
	}
	data := whole.Bytes()
	all := archive.ReadPartial(bytes.NewReader(data), int64(len(data)))
	if len(all) != 5 { // layers, config, manifest
		t.Errorf("the archive has %d blobs, want 5", len(all))
	}
	for h, b := range all {
		if got, _, err := v1.SHA256(bytes.NewReader(data[b.Offset : b.Offset+b.Size])); err != nil || got != h {
			t.Errorf("blob %s has the digest %s (%v)", h, got, err)
		}
	}
	for end := 0; end < len(data); end += 97 {
		found := archive.ReadPartial(bytes.NewReader(data[:end]), int64(end))
		for h, b := range all {
			if there := min(b.Size, int64(end)-b.Offset); there < 0 && found[h] != (archive.PartialBlob{}) || there >= 0 && found[h] != (archive.PartialBlob{Offset: b.Offset, Size: there}) {
				t.Errorf("of %d bytes: blob %s is %+v of %+v", end, h, found[h], b)
			}
		}
	}
}

// Whatever bytes there are, nothing is found outside of them.
func FuzzReadPartial(f *testing.F) {
	img, err := random.Image(1000, 1)
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	if err := archive.Write(f.Context(), &whole, img, "", nil); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:700])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		for h, b := range archive.ReadPartial(bytes.NewReader(data), int64(len(data))) {
			if b.Offset < 0 || b.Size < 0 || b.Offset+b.Size > int64(len(data)) {
				t.Errorf("blob %s is %+v of %d bytes", h, b, len(data))
			}
		}
	})
}
