//go:build unix

package e2e_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/pgzip"

	"github.com/xfn-dev/xfn/internal/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// The layers of BenchmarkBuild's runtime image, the number of builds in an iteration,
// and the name of the image.
const (
	benchLayers    = 4
	benchLayerSize = 256 << 20
	benchRounds    = 3
	benchImage     = "xfn.test/bench-build:v1"
)

// BenchmarkBuild builds a package with a runtime image of 1 GiB. Its four layers are half
// compressible. Builds alternate with the minimum work: reading the layers, computing their
// SHA-256 digests and, for uncompressed layers, compressing them with the same library on
// all cores. It reports the medians s-build and s-limit, their ratio x-limit (goal: below
// 1.3), and the peak memory in MiB (goal: below 100). TMPDIR selects the disk.
func BenchmarkBuild(b *testing.B) {
	xfn := e2e.Binary(b)
	dir := b.TempDir()
	pkg := filepath.Join(dir, "package")
	if err := errors.Join(os.Mkdir(pkg, 0o755), os.WriteFile(filepath.Join(pkg, "crossplane.yaml"),
		[]byte("apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: bench}\nspec: {}\n"), 0o600)); err != nil {
		b.Fatal(err)
	}
	plain, zipped := benchRuntime(b, dir)
	saved, layout, small := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "layout.tar"), filepath.Join(dir, "small.tar")
	writeSaved(b, saved, plain)
	writeLayout(b, layout, plain, types.OCIUncompressedLayer)
	writeLayout(b, small, zipped, types.OCILayer)

	build := func(args ...string) func() (time.Duration, int64) {
		return func() (time.Duration, int64) {
			return buildOnce(b, xfn, append([]string{"xpkg", "build", "-f", pkg, "-o", filepath.Join(dir, "out.xpkg"), "-q"}, args...)...)
		}
	}
	const from = "--embed-runtime-image-tarball"
	b.Run("none", func(b *testing.B) { compare(b, build(), nil) })
	b.Run("tarball", func(b *testing.B) { compare(b, build(from, saved), func() { zipLayers(b, plain) }) })
	b.Run("layout", func(b *testing.B) { compare(b, build(from, layout), func() { zipLayers(b, plain) }) })
	b.Run("compressed", func(b *testing.B) { compare(b, build(from, small), func() { sumLayers(b, zipped) }) })
	b.Run("engine", func(b *testing.B) {
		engine := dockerenginetest.Open(b)
		b.Setenv("DOCKER_HOST", engine.Endpoint().Host)
		f, err := os.Open(saved)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		dockerenginetest.Forget(b, engine, benchImage)
		if err := engine.LoadArchive(b.Context(), f); err != nil {
			b.Fatal(err)
		}
		compare(b, build("--embed-runtime-image", benchImage), func() { zipLayers(b, plain) })
		began := time.Now()
		if err := engine.Save(b.Context(), benchImage, io.Discard, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-save")
	})
}

// compare runs build and limit in turns, and reports the median of each. limit does
// the minimum work of a build, or is nil.
func compare(b *testing.B, build func() (time.Duration, int64), limit func()) {
	b.Helper()
	var builds, limits []time.Duration
	var peak int64
	for b.Loop() {
		for range benchRounds {
			took, most := build()
			builds, peak = append(builds, took), max(peak, most)
			if limit == nil {
				continue
			}
			began := time.Now()
			limit()
			limits = append(limits, time.Since(began))
		}
	}
	b.ReportMetric(middle(builds).Seconds(), "s-build")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	if limit != nil {
		b.ReportMetric(middle(limits).Seconds(), "s-limit")
		b.ReportMetric(middle(builds).Seconds()/middle(limits).Seconds(), "x-limit")
	}
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// buildOnce returns the duration and the peak memory of a process.
func buildOnce(b *testing.B, xfn string, args ...string) (time.Duration, int64) {
	b.Helper()
	forgetPeak()
	cmd := exec.CommandContext(b.Context(), xfn, args...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
	return time.Since(began), maxRSS(cmd.ProcessState)
}

// forgetPeak resets the peak memory of this process, because on Linux a child process
// inherits the peak memory of its parent (proc_pid_clear_refs(5)).
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // Only Linux has this file.
}

// benchRuntime creates the layers, plain and compressed.
func benchRuntime(b *testing.B, dir string) (plain, zipped []benchLayer) {
	b.Helper()
	data := rand.NewChaCha8([32]byte{})
	for i := range benchLayers {
		p := createLayer(b, filepath.Join(dir, fmt.Sprintf("%d.tar", i)), func(w io.Writer) error {
			tw := tar.NewWriter(w)
			size := int64(benchLayerSize - 4*512)
			err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("file-%d", i), Size: size, Mode: 0o644})
			if err == nil {
				_, err = io.CopyN(tw, &half{random: data}, size)
			}
			return errors.Join(err, tw.Close())
		})
		p.diffID = p.digest
		z := createLayer(b, p.path+".gz", func(w io.Writer) error { return benchZip(w, p.path, io.Discard) })
		z.diffID = p.digest
		plain, zipped = append(plain, p), append(zipped, z)
	}
	return plain, zipped
}

// half generates half compressible data: 32 random bytes, then 32 of text.
type half struct{ random io.Reader }

func (h *half) Read(p []byte) (int, error) {
	n, err := h.random.Read(p)
	for rest := p[:n]; len(rest) > 64; rest = rest[64:] {
		copy(rest[32:64], "the quick brown fox jumps over a ")
	}
	return n, err
}

type benchLayer struct {
	path           string
	digest, diffID string
	size           int64
}

func createLayer(b *testing.B, path string, write func(io.Writer) error) benchLayer {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	sum := sha256.New()
	err = write(io.MultiWriter(f, sum))
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		b.Fatal(err)
	}
	return benchLayer{path: path, digest: hex.EncodeToString(sum.Sum(nil)), size: info.Size()}
}

// benchZip compresses a file to w, and writes its content to plain.
func benchZip(w io.Writer, path string, plain io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zw, err := pgzip.NewWriterLevel(w, pgzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := zw.SetConcurrency(1<<20, runtime.GOMAXPROCS(0)+1); err != nil {
		return err
	}
	_, err = io.CopyBuffer(onlyWriter{io.MultiWriter(zw, plain)}, f, make([]byte, 1<<20))
	return errors.Join(err, zw.Close())
}

// An onlyWriter hides the other methods of a Writer.
type onlyWriter struct{ io.Writer }

// zipLayers compresses layers and discards the output.
func zipLayers(b *testing.B, layers []benchLayer) {
	b.Helper()
	for _, l := range layers {
		stored := sha256.New()
		summed := newSummer()
		if err := benchZip(stored, l.path, summed); err != nil {
			b.Fatal(err)
		}
		summed.finish()
	}
}

// sumLayers reads layers and computes their digests.
func sumLayers(b *testing.B, layers []benchLayer) {
	b.Helper()
	for _, l := range layers {
		f, err := os.Open(l.path)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.CopyBuffer(onlyWriter{sha256.New()}, f, make([]byte, 1<<20))
		if err := errors.Join(err, f.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

// A summer computes the digest of what is written to it.
type summer struct {
	sum    hash.Hash
	blocks chan []byte
	done   chan struct{}
}

func newSummer() *summer {
	s := &summer{sum: sha256.New(), blocks: make(chan []byte), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for block := range s.blocks {
			s.sum.Write(block)
		}
	}()
	return s
}

func (s *summer) Write(p []byte) (int, error) {
	s.blocks <- bytes.Clone(p)
	return len(p), nil
}

func (s *summer) finish() {
	close(s.blocks)
	<-s.done
}

// A benchFile is a file of a tar. Its content is data, or that of the file at path.
type benchFile struct {
	name, path string
	data       []byte
	size       int64
}

func writeBenchFiles(b *testing.B, path string, files ...benchFile) {
	b.Helper()
	out, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	tw := tar.NewWriter(out)
	for _, f := range files {
		err = errors.Join(err, writeBenchFile(tw, f))
	}
	if err := errors.Join(err, tw.Close(), out.Close()); err != nil {
		b.Fatal(err)
	}
}

func writeBenchFile(tw *tar.Writer, f benchFile) error {
	size := cmp.Or(f.size, int64(len(f.data)))
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	if f.path == "" {
		_, err := tw.Write(f.data)
		return err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	_, err = io.Copy(tw, in)
	return errors.Join(err, in.Close())
}

func encoded(b *testing.B, v any) []byte {
	b.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func benchConfig(b *testing.B, layers []benchLayer) []byte {
	c := v1.ConfigFile{OS: "linux", Architecture: "amd64", RootFS: v1.RootFS{Type: "layers"}}
	for _, l := range layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: l.diffID})
	}
	return encoded(b, c)
}

// writeSaved writes layers as docker save did before version 25.
func writeSaved(b *testing.B, path string, layers []benchLayer) {
	b.Helper()
	var names []string
	var files []benchFile
	for _, l := range layers {
		name := l.digest + "/layer.tar"
		names = append(names, name)
		files = append(files, benchFile{name: name, path: l.path, size: l.size})
	}
	config := benchConfig(b, layers)
	name := sumOf(config) + ".json"
	manifest := encoded(b, []map[string]any{{"Config": name, "RepoTags": []string{benchImage}, "Layers": names}})
	writeBenchFiles(b, path, append(files, benchFile{name: name, data: config}, benchFile{name: "manifest.json", data: manifest})...)
}

// writeLayout writes layers as an OCI layout.
func writeLayout(b *testing.B, path string, layers []benchLayer, of types.MediaType) {
	b.Helper()
	desc := func(of types.MediaType, sum string, size int64) v1.Descriptor {
		return v1.Descriptor{MediaType: of, Digest: v1.Hash{Algorithm: "sha256", Hex: sum}, Size: size}
	}
	config := benchConfig(b, layers)
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: desc(types.OCIConfigJSON, sumOf(config), int64(len(config)))}
	var files []benchFile
	for _, l := range layers {
		m.Layers = append(m.Layers, desc(of, l.digest, l.size))
		files = append(files, benchFile{name: "blobs/sha256/" + l.digest, path: l.path, size: l.size})
	}
	manifest := encoded(b, m)
	index := encoded(b, v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{desc(types.OCIManifestSchema1, sumOf(manifest), int64(len(manifest)))}})
	writeBenchFiles(b, path, append(files,
		benchFile{name: "blobs/sha256/" + sumOf(config), data: config}, benchFile{name: "blobs/sha256/" + sumOf(manifest), data: manifest},
		benchFile{name: "index.json", data: index}, benchFile{name: "oci-layout", data: []byte(`{"imageLayoutVersion":"1.0.0"}`)})...)
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
