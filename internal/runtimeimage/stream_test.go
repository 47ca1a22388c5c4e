package runtimeimage_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

func digestsOf(t *testing.T, images *runtimeimage.Images, err error) string {
	t.Helper()
	e2e.NoError(t, err)
	defer images.Close()
	var all []string
	for _, img := range images.All {
		e2e.NoError(t, validate.Image(img))
		all = append(all, e2e.Must(img.Digest())(t).String())
	}
	return strings.Join(all, " ")
}

// plainImage returns an image of uncompressed layers.
func plainImage(t *testing.T, arch string) v1.Image {
	t.Helper()
	var layers []v1.Layer
	for _, name := range []string{"a", "b", arch} {
		layers = append(layers, e2e.Must(remotetest.Layer(map[string][]byte{name: bytes.Repeat([]byte(name), 100_000)}))(t))
	}
	return remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layers...), v1.Platform{OS: "linux", Architecture: arch}, v1.Config{})
}

// FromTarball returns the same images for a compressed and an uncompressed tarball.
func TestFromTarballCompressed(t *testing.T) {
	idx := remotetest.Index(plainImage(t, "amd64"), plainImage(t, "arm64"))
	for name, path := range map[string]string{"Plain": writeArchive(t, plainImage(t, "amd64")), "Index": writeArchive(t, idx), "Compressed": writeArchive(t, image(t, "amd64"))} {
		data := []byte(e2e.ReadFile(t, path))
		images, err := runtimeimage.FromTarball(t.Context(), path, options(t))
		want := digestsOf(t, images, err)
		var zipped bytes.Buffer
		zw := gzip.NewWriter(&zipped)
		_, err = zw.Write(data)
		e2e.NoError(t, errors.Join(err, zw.Close()))
		enc := e2e.Must(zstd.NewWriter(nil))(t)
		for how, stored := range map[string][]byte{"Gzip": zipped.Bytes(), "Zstd": enc.EncodeAll(data, nil)} {
			t.Run(name+how, func(t *testing.T) {
				var last progress.Event
				opts, path := options(t), write(t, stored)
				opts.Progress = func(e progress.Event) {
					if e.Kind == progress.Bytes {
						last = e
					}
				}
				images, err := runtimeimage.FromTarball(t.Context(), path, opts)
				e2e.Equal(t, "a compressed tarball has the images of the uncompressed one", want, digestsOf(t, images, err))
				if last.Text != "reading "+path || last.Done != int64(len(stored)) || last.Total != last.Done {
					t.Errorf("the last event is %+v", last)
				}
			})
		}
	}
}

// A package file has the same bytes for layers that are compressed directly
// into it and for layers from a file, for one platform or several.
func TestWriteFileIsTheSame(t *testing.T) {
	pkg := &xpkg.Package{YAML: []byte("---\n")}
	pkg.Meta.Kind = "Function"
	two := remotetest.Index(plainImage(t, "amd64"), plainImage(t, "arm64"))
	for name, path := range map[string]string{"Image": writeArchive(t, plainImage(t, "amd64")), "Index": writeArchive(t, two)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			opts := options(t)
			opts.Beside = dir
			images := e2e.Must(runtimeimage.FromTarball(t.Context(), path, opts))(t)
			defer images.Close()
			a := e2e.Must(xpkg.Build(pkg, images.All, xpkg.BuildOptions{Created: created}))(t)
			var files []string
			for i, write := range []func(string) error{
				func(path string) error { return xpkg.WriteFile(t.Context(), path, a, nil) },
				func(path string) error { return images.WriteFile(t.Context(), path, a, nil) },
				func(path string) error { return images.WriteFile(t.Context(), path, a, nil) }, // WriteFile may be called twice
				func(path string) error {
					f, err := xpkg.Open(t.Context(), filepath.Join(dir, "1"))
					if err != nil {
						return err
					}
					return errors.Join(xpkg.WriteFile(t.Context(), path, f.Artifact, nil), f.Close())
				},
			} {
				path := filepath.Join(dir, fmt.Sprint(i))
				e2e.NoError(t, write(path))
				files = append(files, e2e.ReadFile(t, path))
			}
			for i, f := range files {
				e2e.Equal(t, fmt.Sprintf("file %d has the bytes of the first file", i), files[0], f)
			}
		})
	}
}

// FromEngine returns the same image as FromTarball for a file of docker save.
func TestEngineIsTarball(t *testing.T) {
	engine := dockerenginetest.Open(t)
	const name = "xfn.test/same:v1"
	dockerenginetest.Load(t, engine, name, plainImage(t, "amd64"))
	path := filepath.Join(t.TempDir(), "saved.tar")
	f := e2e.Must(os.Create(path))(t)
	e2e.NoError(t, engine.Save(t.Context(), name, nil, func(r io.Reader) error { return errors.Join(e2e.Err(io.Copy(f, r)), f.Close()) }))
	fromFile, err := runtimeimage.FromTarball(t.Context(), path, options(t))
	want := digestsOf(t, fromFile, err)
	fromEngine, err := runtimeimage.FromEngine(t.Context(), engine, name, options(t))
	e2e.Equal(t, "the engine has the image of the tarball", want, digestsOf(t, fromEngine, err))
}
