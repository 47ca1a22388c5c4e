package oci_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	imagesource "github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
)

func raw(t *testing.T, get func() ([]byte, error)) []byte {
	t.Helper()
	return e2e.Must(get())(t)
}

func randomImage(t *testing.T) (v1.Image, []v1.Layer) {
	t.Helper()
	img := e2e.Must(imagesource.Image(100, 3))(t)
	return img, e2e.Must(img.Layers())(t)
}

// An image that is assembled from the parts of another image has the same digest.
func TestImage(t *testing.T) {
	want, layers := randomImage(t)
	got := e2e.Must(oci.Image(raw(t, want.RawManifest), raw(t, want.RawConfigFile), layers...))(t)
	e2e.NoError(t, validate.Image(got))
	assertSame(t, got, want)
}

func assertSame(t *testing.T, got, want oci.Artifact) {
	t.Helper()
	g := e2e.Must(oci.Describe(got))(t)
	w := e2e.Must(oci.Describe(want))(t)
	if g.Digest != w.Digest || g.Size != w.Size || g.MediaType != w.MediaType {
		t.Errorf("got %v, want %v", g, w)
	}
}

func TestImageRefuses(t *testing.T) {
	img, layers := randomImage(t)
	manifest, config := raw(t, img.RawManifest), raw(t, img.RawConfigFile)
	cases := map[string]struct {
		reason           string
		manifest, config []byte
		layers           []v1.Layer
		want             string
	}{
		"NoManifest":   {"the manifest must be JSON", []byte("no"), config, layers, "reading an image manifest"},
		"List":         {"the error for a JSON list has no type of Go", []byte("[]"), config, layers, "reading an image manifest: it must not be a JSON array"},
		"OtherConfig":  {"a config other than the one in the manifest is an error", manifest, []byte("{}"), layers, "but the manifest says"},
		"MissingLayer": {"a missing layer is an error", manifest, config, layers[:2], "is missing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(oci.Image(tc.manifest, tc.config, tc.layers...)), tc.want)
		})
	}
}

func TestImageLacksLayer(t *testing.T) {
	src, layers := randomImage(t)
	img := e2e.Must(oci.Image(raw(t, src.RawManifest), raw(t, src.RawConfigFile), layers...))(t)
	e2e.Error(t, "found a layer that the image does not have", e2e.Err(img.LayerByDigest(v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)})))
}

func TestAssemble(t *testing.T) {
	src, layers := randomImage(t)
	var descs []v1.Descriptor
	for _, l := range layers {
		desc := e2e.Must(oci.Describe(l))(t)
		desc.Annotations = map[string]string{"a": "b"}
		descs = append(descs, desc)
	}
	img := e2e.Must(oci.Assemble(raw(t, src.RawConfigFile), descs, layers...))(t)
	e2e.NoError(t, validate.Image(img))
	m := e2e.Must(img.Manifest())(t)
	e2e.Equal(t, "the manifest has the media type of OCI", types.OCIManifestSchema1, m.MediaType)
	e2e.Equal(t, "the config has the media type of OCI", types.OCIConfigJSON, m.Config.MediaType)
	for i, d := range m.Layers {
		e2e.Equal(t, fmt.Sprintf("the annotation of layer %d", i), "b", d.Annotations["a"])
	}
}

func TestIndex(t *testing.T) {
	img, _ := randomImage(t)
	inner := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})
	want := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img}, mutate.IndexAddendum{Add: inner})
	manifest := raw(t, want.RawManifest)
	got := e2e.Must(oci.Index(manifest, img, inner))(t)
	e2e.NoError(t, validate.Index(got))
	assertSame(t, got, want)
	m := e2e.Must(got.IndexManifest())(t)
	for i, want := range []oci.Artifact{img, inner} {
		assertSame(t, e2e.Must(oci.Child(got, m.Manifests[i]))(t), want)
	}
	e2e.ErrorHas(t, "a missing child of an index is an error", e2e.Err(oci.Index(manifest, img)), "is missing")
	e2e.Error(t, "an index must be JSON", e2e.Err(oci.Index([]byte("no"), img)))
	e2e.Error(t, "a layer is not a child of an index", e2e.Err(oci.Child(got, v1.Descriptor{MediaType: types.OCILayer})))
	swapped := v1.Descriptor{MediaType: types.OCIImageIndex, Digest: m.Manifests[0].Digest}
	e2e.Error(t, "the content, not the descriptor, decides that an image is not an index", e2e.Err(oci.Child(got, swapped)))
}

func TestLayerChecks(t *testing.T) {
	data := []byte("the bytes of a layer")
	digest, size, err := v1.SHA256(bytes.NewReader(data))
	e2e.NoError(t, err)
	other, _, err := v1.SHA256(strings.NewReader("others"))
	e2e.NoError(t, err)
	cases := map[string]struct {
		reason string
		digest v1.Hash
		size   int64
		want   string
	}{
		"Right":     {"a valid layer is read", digest, size, ""},
		"Content":   {"a wrong digest is an error", other, size, "other content"},
		"Short":     {"a truncated layer is an error", digest, size + 1, "1 bytes shorter"},
		"Algorithm": {"only SHA-256 is supported", v1.Hash{Algorithm: "sha512", Hex: digest.Hex}, size, "not a SHA-256 sum"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(e2e.Must(oci.Layer(bytes.NewReader(data), oci.Blob{Digest: tc.digest, Size: tc.size}))(t).Compressed())
			if tc.want == "" {
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s: got %q, %v", tc.reason, got, err)
				}
				return
			}
			e2e.ErrorHas(t, tc.reason, err, tc.want)
		})
	}
}

func readAll(rc io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return io.ReadAll(rc)
}

func TestVerifyRefusesMore(t *testing.T) {
	digest, _, err := v1.SHA256(strings.NewReader("ab"))
	e2e.NoError(t, err)
	r := e2e.Must(oci.Verify(io.NopCloser(strings.NewReader("abc")), digest, 2))(t)
	if got, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("got %q, %v, want an error", got, err)
	}
}

func TestCompressor(t *testing.T) {
	data := make([]byte, 5<<20)
	e2e.Must(rand.Read(data[:1<<20]))(t)
	want, blob := compress(t, data)
	l := e2e.Must(oci.Layer(bytes.NewReader(want), blob))(t)
	e2e.Error(t, "the validator accepts a layer that is not a tar", validate.Layer(l))
	if content := e2e.Must(io.ReadAll(e2e.Must(gzip.NewReader(bytes.NewReader(want)))(t)))(t); !bytes.Equal(content, data) {
		t.Error("the content differs")
	}
	if content := e2e.Must(readAll(l.Uncompressed()))(t); !bytes.Equal(content, data) {
		t.Error("the layer's content differs")
	}
	e2e.Equal(t, "the layer knows its uncompressed size", int64(len(data)), e2e.Must(partial.UncompressedSize(l))(t))
	// The gzip header must equal the crossplane CLI's: no name, no time, the fastest
	// level, an unknown operating system.
	e2e.Equal(t, "the gzip header is that of the crossplane CLI", []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}, want[:10])
	procs := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(procs)
	if again, _ := compress(t, data); !bytes.Equal(again, want) {
		t.Error("one processor compresses to other bytes")
	}
}

func compress(t *testing.T, data []byte) ([]byte, oci.Blob) {
	t.Helper()
	var b bytes.Buffer
	zw := oci.NewCompressor(&b)
	// The writes have different sizes, because the compressed blocks must not depend on the
	// writes.
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+len(rest)%70000)
		e2e.Must(zw.Write(rest[:n]))(t)
		rest = rest[n:]
	}
	e2e.NoError(t, zw.Close())
	return b.Bytes(), zw.Blob()
}

func TestReader(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := oci.Reader(ctx, strings.NewReader("abc"))
	e2e.Must(io.ReadFull(r, make([]byte, 1)))(t)
	cancel(stopped)
	e2e.ErrorIs(t, "reading after the context has ended returns its cause", e2e.Err(r.Read(make([]byte, 1))), stopped)
}

// Concurrent readers of a layer are independent, whatever the sizes of their reads.
func TestLayerIsReadAtOnce(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	stored, blob := compress(t, data)
	l := e2e.Must(oci.Layer(bytes.NewReader(stored), blob))(t)
	g, _ := errgroup.WithContext(t.Context())
	for n := range 8 {
		g.Go(func() error {
			rc, err := l.Uncompressed()
			if err != nil {
				return err
			}
			defer rc.Close()
			got, err := io.ReadAll(bufio.NewReaderSize(rc, 16<<n))
			if err == nil && !bytes.Equal(got, data) {
				return errors.New("the content differs")
			}
			return err
		})
	}
	e2e.NoError(t, e2e.Await(t, g.Wait))
}

// full is a full disk.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestCompressorFullDisk(t *testing.T) {
	want := errors.New("no space left on device")
	zw := oci.NewCompressor(full{want})
	_, err := zw.Write(make([]byte, 10<<20))
	e2e.ErrorIs(t, "an error of the writer is returned", errors.Join(err, zw.Close()), want)
}

// Reading a layer with untrusted bytes returns all bytes, or an error.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("abc"), int64(3), true)
	f.Add([]byte("abc"), int64(2), true)
	f.Add([]byte(""), int64(-1), false)
	f.Fuzz(func(t *testing.T, data []byte, size int64, honest bool) {
		digest, _, err := v1.SHA256(bytes.NewReader(data))
		e2e.NoError(t, err)
		if !honest {
			digest.Hex = strings.Repeat("0", 64)
		}
		_, err = io.ReadAll(e2e.Must(oci.Verify(io.NopCloser(iotest.OneByteReader(bytes.NewReader(data))), digest, size))(t))
		if good := honest && size == int64(len(data)); (err == nil) != good {
			t.Errorf("valid is %v, got %v", good, err)
		}
	})
}

// unknownField is an image whose manifest has a field that no Go type has.
type unknownField struct{ v1.Image }

func (i unknownField) RawManifest() ([]byte, error) {
	raw, err := i.Image.RawManifest()
	return []byte(strings.Replace(string(raw), "{", `{"annotations":{"old":"1"},"later":{"n":12345678901234567890},`, 1)), err
}

func TestAnnotate(t *testing.T) {
	src, _ := randomImage(t)
	want := map[string]string{"a": "b", "empty": "", "text": "one, <two>"}
	img := e2e.Must(oci.Annotate(unknownField{src}, want))(t)
	e2e.NoError(t, validate.Image(img))
	e2e.Equal(t, "the manifest has the new annotations", want, e2e.Must(img.Manifest())(t).Annotations)
	e2e.Has(t, "an unknown field is kept", string(raw(t, img.RawManifest)), `"later":{"n":12345678901234567890}`)
	img = e2e.Must(oci.Annotate(img, nil))(t)
	if got := string(raw(t, img.RawManifest)); strings.Contains(got, "annotations") {
		t.Errorf("without annotations the manifest has the field: %s", got)
	}
}
