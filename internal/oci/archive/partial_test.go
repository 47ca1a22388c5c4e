package archive_test

import (
	"bytes"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// In a partially written archive each blob is at its final offset.
func TestReadPartial(t *testing.T) {
	img := e2e.Must(random.Image(3000, 3))(t)
	var whole bytes.Buffer
	e2e.NoError(t, archive.Write(t.Context(), &whole, img, "", nil))
	data := whole.Bytes()
	all := archive.ReadPartial(bytes.NewReader(data), int64(len(data)))
	if len(all) != 5 { // three layers, the config and the manifest
		t.Errorf("the archive has %d blobs, want 5", len(all))
	}
	for h, b := range all {
		if got, _, err := v1.SHA256(b); err != nil || got != h {
			t.Errorf("blob %s has the digest %s (%v)", h, got, err)
		}
	}
	for end := 0; end < len(data); end += 97 {
		found := archive.ReadPartial(bytes.NewReader(data[:end]), int64(end))
		for h, b := range all {
			at, size := extent(b)
			gotAt, gotSize := extent(found[h])
			if there := min(size, int64(end)-at); there < 0 && found[h] != nil || there >= 0 && (found[h] == nil || gotAt != at || gotSize != there) {
				t.Errorf("of %d bytes: blob %s is %+v of %+v", end, h, found[h], b)
			}
		}
	}
}

func extent(b *io.SectionReader) (at, size int64) {
	if b != nil {
		_, at, size = b.Outer()
	}
	return at, size
}

// ReadPartial returns no blob that is outside of the file.
func FuzzReadPartial(f *testing.F) {
	img := e2e.Must(random.Image(1000, 1))(f)
	var whole bytes.Buffer
	e2e.NoError(f, archive.Write(f.Context(), &whole, img, "", nil))
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:700])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		for h, b := range archive.ReadPartial(bytes.NewReader(data), int64(len(data))) {
			if at, size := extent(b); at < 0 || size < 0 || at+size > int64(len(data)) {
				t.Errorf("blob %s is %+v of %d bytes", h, b, len(data))
			}
		}
	})
}
