package sandbox_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	goruntime "runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

// packageOf returns a function package for this machine. Each of the tar files becomes a
// layer of its runtime image.
func packageOf(t testing.TB, config v1.Config, files ...string) xpkg.Artifact {
	t.Helper()
	return packaged(t, layered(t, config, files...))
}

// packaged returns a function package with this runtime image.
func packaged(t testing.TB, runtime v1.Image) xpkg.Artifact {
	t.Helper()
	meta := afero.NewMemMapFs()
	text := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: function-test\n"
	e2e.NoError(t, afero.WriteFile(meta, "crossplane.yaml", []byte(text), 0o644))
	pkg := e2e.Must(xpkg.Read(t.Context(), meta, ".", xpkg.ReadOptions{}))(t)
	return e2e.Must(xpkg.Build(pkg, []v1.Image{runtime}, xpkg.BuildOptions{}))(t)
}

func layered(t testing.TB, config v1.Config, files ...string) v1.Image {
	t.Helper()
	c := v1.ConfigFile{OS: "linux", Architecture: goruntime.GOARCH, Config: config, RootFS: v1.RootFS{Type: "layers"}}
	var descs []v1.Descriptor
	var layers []v1.Layer
	for _, file := range files {
		l, blob := layerOf(t, file)
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, blob.DiffID)
		descs = append(descs, v1.Descriptor{MediaType: blob.MediaType, Digest: blob.Digest, Size: blob.Size})
		layers = append(layers, l)
	}
	raw := e2e.Must(json.Marshal(c))(t)
	return e2e.Must(oci.Assemble(raw, descs, layers...))(t)
}

// layerOf compresses a tar file, and returns the layer. The compressed file stays open
// until the test ends.
func layerOf(t testing.TB, file string) (v1.Layer, oci.Blob) {
	t.Helper()
	plain := e2e.Must(os.Open(file))(t)
	defer plain.Close()
	stored, err := os.Create(file + ".gz")
	e2e.NoError(t, err)
	t.Cleanup(func() { stored.Close() })
	z := oci.NewCompressor(stored)
	_, err = io.Copy(z, plain)
	e2e.NoError(t, errors.Join(err, z.Close()))
	l := e2e.Must(oci.Layer(stored, z.Blob()))(t)
	return l, z.Blob()
}

func writePackage(t testing.TB, file string, a xpkg.Artifact) {
	t.Helper()
	e2e.NoError(t, xpkg.WriteFile(t.Context(), file, a, nil))
}
