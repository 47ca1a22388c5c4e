package e2e_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// benchImage is the name of the large image in an archive and in an engine.
const benchImage = "xfn.test/bench-build:v1"

// BenchmarkBuild builds packages with a large runtime image of half compressible layers.
// TMPDIR selects the disk.
func BenchmarkBuild(b *testing.B) {
	if !benchtest.Wants(b, "BuildTarball", "BuildEngine") {
		return
	}
	dir := b.TempDir()
	plain := createLayers(b, dir)
	pkg, saved := benchMetadata(b, dir), filepath.Join(dir, "saved.tar")
	writeSaved(b, saved, plain)
	build := func(flag, image string) benchtest.Jobs {
		args := []string{"xpkg", "build", "-f", pkg, "-o", filepath.Join(dir, "out.xpkg"), flag, image}
		return benchtest.Jobs{
			XFN: func(xfn string) benchtest.Cost { return benchtest.Run(b, dir, xfn, args...) },
			CLI: func(cli string) benchtest.Cost { return benchtest.Try(b, dir, cli, args...) },
		}
	}
	tarball := build("--embed-runtime-image-tarball", saved)
	tarball.Limit = func() benchtest.Cost { return benchtest.Timed(func() { zipLayers(b, plain) }) }
	benchtest.Measure(b, "BuildTarball", tarball)
	b.Run("BuildEngine", func(b *testing.B) {
		if !benchtest.Wants(b, "BuildEngine") {
			return
		}
		engine := dockerenginetest.Open(b)
		b.Setenv("DOCKER_HOST", engine.Endpoint().Host)
		f := e2e.Must(os.Open(saved))(b)
		defer f.Close()
		dockerenginetest.Forget(b, engine, benchImage)
		e2e.NoError(b, engine.LoadArchive(b.Context(), f))
		jobs := build("--embed-runtime-image", benchImage)
		jobs.Limit = func() benchtest.Cost {
			return benchtest.Timed(func() {
				e2e.NoError(b, engine.Save(b.Context(), benchImage, nil, func(r io.Reader) error { return e2e.Err(io.Copy(io.Discard, r)) }))
			})
		}
		jobs.Floor = func() benchtest.Cost { return after(jobs.Limit(), func() { zipLayers(b, plain) }) }
		benchtest.Measure(b, "BuildEngine", jobs)
	})
}

// BenchmarkRegistry moves a large package between a registry and this machine. The limits
// are plain HTTP requests for the same bytes to the same registry.
func BenchmarkRegistry(b *testing.B) {
	if !benchtest.Wants(b, "Push", "PushAgain", "Pull", "PullHashed", "Copy") {
		return
	}
	from, to := newBenchRegistry(b), newBenchRegistry(b)
	file, blobs := benchPackage(b)
	digest := "sha256:" + fileSum(b, file)
	b.Setenv("XFN_CACHE_DIR", filepath.Join(b.TempDir(), "cache"))
	ref := from.host + "/acme/bench:v1"
	run := func(xfn string, args ...string) benchtest.Cost { return benchtest.Run(b, ".", xfn, args...) }
	timed := func(f func(context.Context) error) benchtest.Cost {
		return benchtest.Timed(func() {
			e2e.NoError(b, f(b.Context()))
		})
	}
	push := func(xfn string) benchtest.Cost { return run(xfn, "xpkg", "push", "-q", "-f", file, ref) }
	benchtest.Measure(b, "Push", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { from.clear(b); return push(xfn) },
		Limit: func() benchtest.Cost { from.clear(b); return timed(uploadFile(from, file, digest)) },
		CLI: func(cli string) benchtest.Cost {
			from.clear(b)
			return benchtest.Try(b, ".", cli, "xpkg", "push", "-f", file, ref)
		},
	})
	from.clear(b)
	push(e2e.Binary(b))
	benchtest.Measure(b, "PushAgain", benchtest.Jobs{XFN: push})

	out := filepath.Join(b.TempDir(), "out.xpkg")
	pull := func(xfn string) benchtest.Cost {
		removeAll(b, os.Getenv("XFN_CACHE_DIR"), out)
		return run(xfn, "xpkg", "pull", "-q", ref, "-o", out)
	}
	benchtest.Measure(b, "Pull", benchtest.Jobs{XFN: pull, Limit: func() benchtest.Cost {
		return timed(func(ctx context.Context) error {
			return eachBlob(blobs, 1, func(blob v1.Descriptor) error { return from.download(ctx, blob, io.Discard) })
		})
	}})
	hashed := func(dir string) benchtest.Cost {
		return timed(func(ctx context.Context) error {
			return eachBlob(blobs, -1, func(blob v1.Descriptor) error { return from.hashed(ctx, blob, dir) })
		})
	}
	files := b.TempDir()
	benchtest.Measure(b, "PullHashed", benchtest.Jobs{
		XFN:   pull,
		Limit: func() benchtest.Cost { return hashed("") },
		Floor: func() benchtest.Cost {
			removeAll(b, files)
			e2e.NoError(b, os.Mkdir(files, 0o700))
			return hashed(files)
		},
	})
	removeAll(b, files)
	removeAll(b, os.Getenv("XFN_CACHE_DIR"), out)
	benchtest.Measure(b, "Copy", benchtest.Jobs{
		XFN: func(xfn string) benchtest.Cost {
			to.clear(b)
			return run(xfn, "xpkg", "copy", "-q", ref, to.host+"/acme/bench:v1")
		},
		Limit: func() benchtest.Cost {
			to.clear(b)
			return timed(func(ctx context.Context) error {
				return eachBlob(blobs, 1, func(blob v1.Descriptor) error { return from.pipe(ctx, to, blob) })
			})
		},
	})
}

// eachBlob calls f for each blob, n at the same time. A negative n means all.
func eachBlob(blobs []v1.Descriptor, n int, f func(v1.Descriptor) error) error {
	var g errgroup.Group
	g.SetLimit(n)
	for _, blob := range blobs {
		g.Go(func() error { return f(blob) })
	}
	return g.Wait()
}

func uploadFile(to *benchRegistry, file, digest string) func(context.Context) error {
	return func(ctx context.Context) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return to.upload(ctx, f, digest)
	}
}

func removeAll(b *testing.B, paths ...string) {
	b.Helper()
	for _, path := range paths {
		e2e.NoError(b, os.RemoveAll(path))
	}
}

// benchMetadata returns a folder with the metadata of a function.
func benchMetadata(b *testing.B, dir string) string {
	b.Helper()
	pkg := filepath.Join(dir, "package")
	meta := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: bench}\nspec: {}\n"
	e2e.NoError(b, errors.Join(os.Mkdir(pkg, 0o755), os.WriteFile(filepath.Join(pkg, "crossplane.yaml"), []byte(meta), 0o600)))
	return pkg
}

// benchPackage builds a package with the large image, and returns its blobs.
func benchPackage(b *testing.B) (file string, blobs []v1.Descriptor) {
	b.Helper()
	dir := b.TempDir()
	layout := filepath.Join(dir, "layout.tar")
	writeLayout(b, layout, compressed(b, createLayers(b, dir)), types.OCILayer)
	file = filepath.Join(b.TempDir(), "bench.xpkg")
	benchtest.Run(b, ".", e2e.Binary(b), "xpkg", "build", "-q", "-f", benchMetadata(b, dir), "--embed-runtime-image-tarball", layout, "-o", file)
	removeAll(b, dir)
	f := e2e.Must(xpkg.Open(b.Context(), file))(b)
	defer func() { _ = f.Close() }()
	img, ok := f.Artifact.(v1.Image)
	if !ok {
		b.Fatal("the package is not an image")
	}
	m := e2e.Must(img.Manifest())(b)
	return file, append(m.Layers, m.Config)
}
