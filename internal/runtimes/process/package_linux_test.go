package process_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/function/functiontest"
	"github.com/xfn-dev/xfn/xpkg"
)

func tarOf(name string, content []byte) (v1.Layer, error) {
	buf := &bytes.Buffer{}
	w := tar.NewWriter(buf)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return static.NewLayer(buf.Bytes(), types.OCIUncompressedLayer), nil
}

// self is a layer with this test binary as usr/bin/function.
var self = sync.OnceValues(func() (v1.Layer, error) {
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	return tarOf("usr/bin/function", content)
})

func program(t *testing.T, content string) v1.Layer {
	t.Helper()
	l, err := tarOf("usr/bin/function", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func selfLayer(t *testing.T) v1.Layer {
	t.Helper()
	l, err := self()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// imageOf returns a function package for a platform whose runtime is a layer
// and a config.
func imageOf(t testing.TB, platform v1.Platform, config v1.Config, layer v1.Layer) v1.Image {
	t.Helper()
	meta, err := tarOf("package.yaml", []byte("apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: f\n"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.Append(empty.Image,
		mutate.Addendum{Layer: layer},
		mutate.Addendum{Layer: meta, Annotations: map[string]string{xpkg.Annotation: "base"}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file.OS, file.Architecture, file.Config = platform.OS, platform.Architecture, config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return mutate.MediaType(img, types.OCIManifestSchema1)
}

var host = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// write writes a package to a file.
func write(t testing.TB, a xpkg.Artifact) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.xpkg")
	if err := xpkg.WriteFile(t.Context(), path, a, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// childConfig is the config of an image whose function is a functiontest child.
func childConfig(b functiontest.Behaviour, l lifeline) v1.Config {
	entrypoint := append([]string{"/usr/bin/function"}, functiontest.ChildArgs(b, l.path)...)
	return v1.Config{Entrypoint: entrypoint, Cmd: []string{"--is-replaced"}}
}

// writeChild writes a package whose function is a functiontest child.
func writeChild(t *testing.T, b functiontest.Behaviour, l lifeline) string {
	t.Helper()
	return write(t, imageOf(t, host, childConfig(b, l), selfLayer(t)))
}
