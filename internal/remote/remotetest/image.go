package remotetest

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"runtime"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/signature"
)

// Layer returns an uncompressed layer with executable files.
func Layer(files map[string][]byte) (v1.Layer, error) {
	content, err := Tar(files)
	return static.NewLayer(content, types.OCIUncompressedLayer), err
}

// Tar returns the content of a Layer.
func Tar(files map[string][]byte) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		errs = append(errs, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(files[name]))}))
		_, err := w.Write(files[name])
		errs = append(errs, err)
	}
	err := errors.Join(append(errs, w.Close())...)
	return buf.Bytes(), err
}

// Configured returns img with a platform and a config.
func Configured(t testing.TB, img v1.Image, platform v1.Platform, config v1.Config) v1.Image {
	t.Helper()
	file := e2e.Must(img.ConfigFile())(t)
	file.OS, file.Architecture, file.Config = platform.OS, platform.Architecture, config
	return e2e.Must(mutate.ConfigFile(img, file))(t)
}

// Image returns an OCI image of layers for Linux on the architecture of this machine.
func Image(t testing.TB, config v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	img := e2e.Must(mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...))(t)
	return Configured(t, img, v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, config)
}

// Index returns an OCI index of images and indexes.
func Index(all ...mutate.Appendable) v1.ImageIndex {
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, a := range all {
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: a})
	}
	return idx
}

// Layout writes images and indexes as an OCI image layout and returns its directory.
func Layout(t testing.TB, all ...mutate.Appendable) string {
	t.Helper()
	dir := t.TempDir()
	e2e.Must(layout.Write(dir, Index(all...)))(t)
	return dir
}

// Key returns a new private key.
func Key(t testing.TB) *signature.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	e2e.NoError(t, err)
	der := e2e.Must(x509.MarshalPKCS8PrivateKey(private))(t)
	k := e2e.Must(signature.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil))(t)
	return k
}
