package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func draft(t testing.TB) (*archive.Draft, *os.File) {
	t.Helper()
	f := e2e.Open(os.Create(filepath.Join(t.TempDir(), "draft")))(t)
	return archive.NewDraft(f), f
}

// compressed adds a layer with a file of size bytes to the draft.
func compressed(t testing.TB, d *archive.Draft, name string, size int) v1.Layer {
	t.Helper()
	data := tarOf(t, member{name: name, text: string(make([]byte, size))})
	l := e2e.Must(d.Compress(func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}))(t)
	return l
}

// imageOf returns an image of layers and own. The layer own is the last one, and is
// annotated as a base layer.
func imageOf(t testing.TB, arch string, own v1.Layer, layers ...v1.Layer) v1.Image {
	t.Helper()
	img := e2e.Must(mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...))(t)
	img = e2e.Must(mutate.Append(img, mutate.Addendum{Layer: own, Annotations: map[string]string{archive.Mark: "base"}}))(t)
	return remotetest.Configured(t, img, v1.Platform{OS: "linux", Architecture: arch}, v1.Config{})
}

// A draft becomes the file that Write writes, without copying, if its layers
// are in order. A file that is read and written again is unchanged.
func TestDraftIsWhatWriteWrites(t *testing.T) {
	cases := map[string]struct {
		reason string
		// add adds layers to a draft and returns the artifact to write.
		add  func(d *archive.Draft, own v1.Layer) oci.Artifact
		want bool
	}{
		"One": {"the draft of an image is the written file", func(d *archive.Draft, own v1.Layer) oci.Artifact {
			return imageOf(t, "amd64", own, compressed(t, d, "a", 3<<20), compressed(t, d, "b", 10))
		}, true},
		"Nothing": {"an empty draft is complete", func(_ *archive.Draft, own v1.Layer) oci.Artifact { return imageOf(t, "amd64", own) }, true},
		"Several": {"own layers are after the layers of all images", func(d *archive.Draft, own v1.Layer) oci.Artifact {
			a := imageOf(t, "amd64", own, compressed(t, d, "a", 10))
			return remotetest.Index(a, imageOf(t, "arm64", own, compressed(t, d, "b", 20)))
		}, true},
		"Shared": {"a layer of two images is stored once", func(d *archive.Draft, own v1.Layer) oci.Artifact {
			base, a := compressed(t, d, "base", 10), compressed(t, d, "a", 10)
			return remotetest.Index(imageOf(t, "amd64", own, base, a), imageOf(t, "arm64", own, base, compressed(t, d, "b", 20)))
		}, true},
		"Twice": {"a repeated layer is stored once", func(d *archive.Draft, own v1.Layer) oci.Artifact {
			return imageOf(t, "amd64", own, compressed(t, d, "a", 10), compressed(t, d, "b", 4<<20), compressed(t, d, "a", 10), compressed(t, d, "b", 4<<20))
		}, true},
		"Order": {"layers in another order are not kept", func(d *archive.Draft, own v1.Layer) oci.Artifact {
			b := compressed(t, d, "b", 20)
			return imageOf(t, "amd64", own, compressed(t, d, "a", 10), b)
		}, false},
		"Orphan": {"a layer of no image is not kept", func(d *archive.Draft, own v1.Layer) oci.Artifact {
			a := compressed(t, d, "a", 10)
			compressed(t, d, "b", 20)
			return imageOf(t, "amd64", own, a)
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, f := draft(t)
			elsewhere, _ := draft(t)
			a := tc.add(d, compressed(t, elsewhere, "package.yaml", 100))
			before := sizeOf(t, f)
			want := write(t, a)
			done, err := d.Finish(t.Context(), a, "writing", nil)
			if err != nil || done != tc.want {
				t.Fatalf("%s: got %v, %v, want %v", tc.reason, done, err, tc.want)
			}
			if !done {
				e2e.Equal(t, tc.reason+": something was written", before, sizeOf(t, f))
				return
			}
			e2e.Equal(t, tc.reason+": the draft differs", want, contents(t, f))
			if again := write(t, open(t, f.Name()).Artifact); !bytes.Equal(again, want) {
				t.Errorf("%s: read and written again it differs", tc.reason)
			}
		})
	}
}

func contents(t *testing.T, f *os.File) []byte {
	t.Helper()
	return []byte(e2e.ReadFile(t, f.Name()))
}

func sizeOf(t *testing.T, f *os.File) int64 {
	t.Helper()
	return e2e.Must(f.Stat())(t).Size()
}

// A failed layer leaves nothing, not even in the padding of the next layer.
func TestDraftAfterFailure(t *testing.T) {
	d, f := draft(t)
	broken := errors.New("broken")
	_, err := d.Compress(func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("0123456789"), 1<<20))
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	elsewhere, _ := draft(t)
	a := imageOf(t, "amd64", compressed(t, elsewhere, "own", 1), compressed(t, d, "a", 10))
	if done, err := d.Finish(t.Context(), a, "", nil); err != nil || !done {
		t.Fatalf("got %v, %v", done, err)
	}
	e2e.Equal(t, "the draft has the bytes of the written file", write(t, a), contents(t, f))
}

// A copied layer is verified, or its digest is computed.
func TestDraftCopy(t *testing.T) {
	const text = "stored"
	digest := v1.Hash{Algorithm: "sha256", Hex: sha(text)}
	lie := v1.Hash{Algorithm: "sha256", Hex: sha("other")}
	cases := map[string]struct {
		reason string
		digest v1.Hash
		fails  bool
	}{
		"Known":   {"a right digest is accepted", digest, false},
		"Lie":     {"a wrong digest is an error", lie, true},
		"Unknown": {"a missing digest is computed", v1.Hash{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, f := draft(t)
			blob := oci.Blob{Digest: tc.digest, Size: int64(len(text))}
			r := io.NopCloser(bytes.NewReader([]byte(text)))
			var err error
			if tc.digest != (v1.Hash{}) {
				r = e2e.Must(oci.Verify(r, tc.digest, blob.Size))(t)
			}
			l, err := d.Copy(t.Context(), r, blob)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if tc.fails {
				e2e.Equal(t, "the bytes of a failed layer are removed", int64(0), sizeOf(t, f))
				return
			}
			if l.Blob.Digest != digest || l.Blob.Size != int64(len(text)) {
				t.Errorf("got %+v", l.Blob)
			}
		})
	}
}

func TestDraftStops(t *testing.T) {
	d, _ := draft(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "Copy returns the cause of its context", e2e.Err(d.Copy(ctx, bytes.NewReader([]byte("x")), oci.Blob{})), context.Canceled)
}
