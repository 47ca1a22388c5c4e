package signature_test

import (
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/signature"
)

const kind types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"

const key = "dev.cosignproject.cosign/signature"

// holding returns an image with one layer, whose descriptor has these annotations.
func holding(t testing.TB, l v1.Layer, annotations map[string]string) v1.Image {
	t.Helper()
	return e2e.Must(mutate.Append(empty.Image, mutate.Addendum{Layer: l, Annotations: annotations}))(t)
}

// Append adds a signature in cosign's format, and keeps existing layers and
// their annotations.
func TestAppend(t *testing.T) {
	a, b := signature.Signature{Payload: []byte("{}"), Value: []byte("a")}, signature.Signature{Payload: []byte("{}"), Value: []byte("b")}
	theirs := map[string]string{key: base64.StdEncoding.EncodeToString(b.Value), "dev.sigstore.cosign/bundle": "{}"}
	cases := map[string]struct {
		reason string
		base   v1.Image
		want   []signature.Signature
		kept   map[string]string
	}{
		"First": {"an image is created for the first signature", nil, []signature.Signature{a}, nil},
		"Next":  {"a signature by another key is kept", holding(t, static.NewLayer(b.Payload, kind), theirs), []signature.Signature{{Payload: b.Payload, Value: b.Value, Bundle: []byte("{}")}, a}, theirs},
		"Other": {"another layer is kept, and is not a signature", holding(t, static.NewLayer([]byte("x"), "text/plain"), nil), []signature.Signature{a}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			img := e2e.Must(signature.Append(tc.base, a))(t)
			e2e.NoError(t, validate.Image(img, validate.Fast))
			e2e.Equal(t, tc.reason, tc.want, e2e.Must(signature.Read(img))(t))
			m := e2e.Must(img.Manifest())(t)
			last := m.Layers[len(m.Layers)-1]
			if last.MediaType != kind || last.Annotations[key] != "YQ==" {
				t.Errorf("%s: the layer is %+v", tc.reason, last)
			}
			if tc.kept != nil && cmp.Diff(tc.kept, m.Layers[0].Annotations) != "" {
				t.Errorf("%s: annotations are %v", tc.reason, m.Layers[0].Annotations)
			}
		})
	}
	m := e2e.Must(e2e.Must(signature.Append(nil, a))(t).Manifest())(t)
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON {
		t.Errorf("the manifest is %s with a config %s", m.MediaType, m.Config.MediaType)
	}
}

// broken is a layer with a wrong size or without content.
type broken struct {
	v1.Layer
	size int64
}

func (b broken) Size() (int64, error) { return b.size, nil }
func (b broken) Compressed() (io.ReadCloser, error) {
	if b.size == 0 {
		return nil, errors.New("no such blob")
	}
	return io.NopCloser(io.LimitReader(zeros{}, 1<<40)), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestReadHostile(t *testing.T) {
	l := static.NewLayer([]byte("{}"), kind)
	signed := func(value string) map[string]string { return map[string]string{key: value} }
	many := make([]mutate.Addendum, 1001)
	for i := range many {
		many[i] = mutate.Addendum{Layer: l, Annotations: signed("YQ==")}
	}
	cases := map[string]struct {
		reason string
		img    v1.Image
		want   []signature.Signature
		err    string
	}{
		"NoValue":  {"a layer without the annotation has an empty signature", holding(t, l, nil), []signature.Signature{{Payload: []byte("{}"), Value: []byte{}}}, ""},
		"NotBase":  {"a signature that is not base64 is ignored", holding(t, l, signed("?")), []signature.Signature{{}}, ""},
		"Long":     {"the length of a signature is limited", holding(t, l, signed(strings.Repeat("YWFh", 2000))), []signature.Signature{{}}, ""},
		"Large":    {"a payload whose size exceeds the limit is not fetched", holding(t, broken{l, 1 << 40}, signed("YQ==")), []signature.Signature{{}}, ""},
		"Endless":  {"a payload that is larger than its size is an error", holding(t, broken{l, 2}, signed("YQ==")), nil, "expected at most 64 KiB"},
		"Missing":  {"a missing payload is an error", holding(t, broken{l, 0}, signed("YQ==")), nil, "no such blob"},
		"TooMany":  {"more than 1000 signatures are an error", e2e.Must(mutate.Append(empty.Image, many...))(t), nil, "1001 signatures, more than the limit of 1000"},
		"NoLayers": {"an image without layers has no signatures", empty.Image, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := signature.Read(tc.img)
			if tc.err != "" {
				checkError(t, tc.reason, err, tc.err, "")
			} else {
				e2e.WantError(t, tc.reason, err, "")
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
	_, err := signature.Append(e2e.Must(mutate.Append(empty.Image, many[:1000]...))(t), signature.Signature{})
	checkError(t, "an image has at most 1000 signatures", err, "1000 signatures already, which is the limit", "")
}

// A claimed is a layer with another size than its content has.
type claimed struct {
	v1.Layer
	size int64
}

func (c claimed) Size() (int64, error) { return c.size, nil }

// The attestations of an image are bounded together, and not only each of them.
func TestReadAttestationsLimit(t *testing.T) {
	const dsse = "application/vnd.dsse.envelope.v1+json"
	img := v1.Image(empty.Image)
	for i := range 5 {
		l := claimed{static.NewLayer([]byte{byte(i)}, dsse), 16 << 20}
		img = e2e.Must(mutate.Append(img, mutate.Addendum{Layer: l, MediaType: dsse, Annotations: map[string]string{key: ""}}))(t)
		all, err := signature.ReadAttestations(img)
		if i < 4 && (err != nil || len(all) != i+1) {
			t.Errorf("of %d attestations, %d were read, error %v", i+1, len(all), err)
		}
		if i == 4 {
			checkError(t, "five attestations of 16 MiB are too large", err, "the signed documents are larger than the limit of 64 MiB", "")
		}
	}
}

// Signatures with the same value are different if only one has the proof of a log.
func TestMergeBundle(t *testing.T) {
	plain := signature.Signature{Payload: []byte("{}"), Value: []byte("a")}
	logged := plain
	logged.Bundle = []byte("{}")
	have := e2e.Must(signature.Append(nil, plain))(t)
	more := e2e.Must(signature.Append(have, logged))(t)
	merged := e2e.Must(signature.Merge(have, more))(t)
	e2e.Equal(t, "signatures that differ only in the proof of a log are kept", []signature.Signature{plain, logged}, e2e.Must(signature.Read(merged))(t))
	if same := e2e.Must(signature.Merge(merged, more))(t); same != merged {
		t.Error("a second merge changed the image")
	}
}

// Read must return no error for arbitrary layers of signatures, which are untrusted.
func FuzzRead(f *testing.F) {
	f.Add("YQ==", string(kind), []byte("{}"))
	f.Add("?", "text/plain", []byte(nil))
	f.Fuzz(func(t *testing.T, value, mediaType string, payload []byte) {
		img := holding(t, static.NewLayer(payload, types.MediaType(mediaType)), map[string]string{key: value})
		all, err := signature.Read(img)
		if err != nil || len(all) > 1 || len(all) == 1 && mediaType != string(kind) {
			t.Fatalf("%d signatures, error %v", len(all), err)
		}
		next := e2e.Must(signature.Append(img, signature.Signature{Payload: payload, Value: []byte("a")}))(t)
		if more, err := signature.Read(next); err == nil && len(more) != len(all)+1 {
			t.Errorf("%d signatures became %d", len(all), len(more))
		}
	})
}
