package oci_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
)

func TestPlain(t *testing.T) {
	data := bytes.Repeat([]byte("some text, "), 1000)
	zipped, _ := compress(t, data)
	zw := e2e.Must(zstd.NewWriter(nil))(t)
	size := int64(len(data))
	cases := map[string]struct {
		reason string
		stored []byte
		left   int64
		want   error
	}{
		"Plain":    {"a layer may be an uncompressed tar", data, size + 1, nil},
		"Gzip":     {"a gzip layer is decompressed, whatever its media type is", zipped, size + 1, nil},
		"Zstd":     {"a zstd layer is decompressed, whatever its media type is", zw.EncodeAll(data, nil), size + 1, nil},
		"TooLarge": {"the limit counts decompressed bytes", zipped, size - 1, oci.ErrTooLarge},
		"Nothing":  {"several layers share one limit", data, 0, oci.ErrTooLarge},
		"Short":    {"a layer may be shorter than the magic number of a compression", []byte("ab"), 3, nil},
		"BadGzip":  {"a layer with an invalid gzip body is an error", []byte("\x1f\x8b no"), size, io.ErrUnexpectedEOF},
		"BadZstd":  {"a layer with an invalid zstd body is an error", []byte("\x28\xb5\x2f\xfd"), size, io.ErrUnexpectedEOF},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			left := tc.left
			got, err := readPlain(t.Context(), static.NewLayer(tc.stored, types.OCILayer), &left)
			e2e.ErrorIs(t, tc.reason, err, tc.want)
			want := data
			if name == "Short" {
				want = tc.stored
			}
			if tc.want == nil && !bytes.Equal(got, want) {
				t.Errorf("%s: got %d other bytes", tc.reason, len(got))
			}
			e2e.Equal(t, tc.reason+": the bytes that are left", tc.left-int64(len(got)), left)
		})
	}
}

func readPlain(ctx context.Context, l v1.Layer, left *int64) (data []byte, err error) {
	rc, err := oci.Plain(ctx, l, left)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	return io.ReadAll(rc)
}

func TestPlainStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := int64(100)
	rc := e2e.Must(oci.Plain(ctx, static.NewLayer([]byte("text"), types.OCILayer), &left))(t)
	defer rc.Close()
	cancel()
	e2e.ErrorIs(t, "reading after the context has ended is an error", e2e.Err(rc.Read(make([]byte, 1))), context.Canceled)
}

func TestCheckDiffID(t *testing.T) {
	data := bytes.Repeat([]byte("some text, "), 1000)
	zipped, _ := compress(t, data)
	digest := func(b []byte) v1.Hash {
		h, _, err := v1.SHA256(bytes.NewReader(b))
		e2e.NoError(t, err)
		return h
	}
	cases := map[string]struct {
		reason string
		stored []byte
		diffID v1.Hash
		left   int64
		want   string
	}{
		"Right":    {"the diff ID is the digest of the decompressed tar", zipped, digest(data), int64(len(data)) + 1, ""},
		"Plain":    {"a layer may be uncompressed", data, digest(data), int64(len(data)) + 1, ""},
		"Stored":   {"the digest of the compressed layer is not the diff ID", zipped, digest(zipped), int64(len(data)) + 1, "but the config says " + digest(zipped).String()},
		"TooLarge": {"the decompressed size is limited", zipped, digest(data), 100, "more bytes than are allowed"},
		"Broken":   {"a layer that cannot be decompressed is an error", zipped[:20], digest(data), 1 << 20, "unexpected EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			blob := oci.Blob{Digest: digest(tc.stored), Size: int64(len(tc.stored)), DiffID: tc.diffID, MediaType: types.OCILayer}
			l, err := oci.Layer(bytes.NewReader(tc.stored), blob)
			e2e.NoError(t, err)
			err = oci.CheckDiffID(t.Context(), l, &tc.left)
			if (err == nil) != (tc.want == "") || err != nil && strings.Count(err.Error(), tc.want) != 1 {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
