package xpkg_test

import (
	"bytes"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// A base layer is an untrusted tar, which may be compressed.
func FuzzMetadata(f *testing.F) {
	layers := e2e.Must(build(f, aPackage("Function", "fn")).(v1.Image).Layers())(f)
	for _, open := range []func() ([]byte, error){bytesOf(layers[0].Compressed), bytesOf(layers[0].Uncompressed)} {
		f.Add(e2e.Must(open())(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		digest, size, err := v1.SHA256(bytes.NewReader(data))
		e2e.NoError(t, err)
		img := e2e.Must(annotated(bytes.NewReader(data), v1.Descriptor{
			MediaType: types.OCILayer, Digest: digest, Size: size,
			Annotations: map[string]string{xpkg.Annotation: "base"},
		}))(t)
		yaml, err := xpkg.PackageYAML(t.Context(), img)
		if err != nil && yaml != nil {
			t.Error("a file and an error")
		}
		if o, err := xpkg.Metadata(t.Context(), img); err == nil && o.Kind == "" {
			t.Errorf("metadata without a kind: %+v", o)
		}
	})
}

func bytesOf(open func() (io.ReadCloser, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		rc, err := open()
		if err != nil {
			return nil, err
		}
		defer rc.Close()
		return io.ReadAll(rc)
	}
}
