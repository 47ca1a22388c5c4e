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
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/pgzip"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// benchLayerSize is the size of each layer of the large image.
const benchLayerSize = 256 << 20

// benchLayers returns the number of layers of the large image.
func benchLayers(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(benchtest.LayersVar), strconv.Itoa(benchtest.DefaultLayers)))
	if err != nil {
		b.Fatalf("reading %s: %v", benchtest.LayersVar, err)
	}
	return n
}

// createLayers creates the layers of the large image.
func createLayers(b *testing.B, dir string) (layers []benchLayer) {
	b.Helper()
	data := rand.NewChaCha8([32]byte{})
	for i := range benchLayers(b) {
		l := createLayer(b, filepath.Join(dir, fmt.Sprintf("%d.tar", i)), func(w io.Writer) error {
			tw := tar.NewWriter(w)
			size := int64(benchLayerSize - 4*512)
			err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("file-%d", i), Size: size, Mode: 0o644})
			if err == nil {
				_, err = io.CopyN(tw, &half{random: data}, size)
			}
			return errors.Join(err, tw.Close())
		})
		l.diffID = l.digest
		layers = append(layers, l)
	}
	return layers
}

// compressed returns compressed copies of layers.
func compressed(b *testing.B, layers []benchLayer) (zipped []benchLayer) {
	b.Helper()
	for _, l := range layers {
		z := createLayer(b, l.path+".gz", func(w io.Writer) error { return benchZip(w, l.path, io.Discard) })
		z.diffID = l.diffID
		zipped = append(zipped, z)
	}
	return zipped
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
	e2e.NoError(b, err)
	sum := sha256.New()
	err = write(io.MultiWriter(f, sum))
	info, statErr := f.Stat()
	e2e.NoError(b, errors.Join(err, statErr, f.Close()))
	return benchLayer{path: path, digest: hex.EncodeToString(sum.Sum(nil)), size: info.Size()}
}

// fileSum returns the SHA-256 digest of a file in hexadecimal.
func fileSum(b *testing.B, path string) string {
	b.Helper()
	f := e2e.Must(os.Open(path))(b)
	defer f.Close()
	h, _, err := v1.SHA256(f)
	e2e.NoError(b, err)
	return h.Hex
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
		e2e.NoError(b, benchZip(stored, l.path, summed))
		summed.finish()
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

// A benchFile is a file of a tar. Its content is data, or the content of the file at path.
type benchFile struct {
	name, path string
	data       []byte
	size       int64
}

func writeBenchFiles(b *testing.B, path string, files ...benchFile) {
	b.Helper()
	out, err := os.Create(path)
	e2e.NoError(b, err)
	tw := tar.NewWriter(out)
	for _, f := range files {
		err = errors.Join(err, writeBenchFile(tw, f))
	}
	e2e.NoError(b, errors.Join(err, tw.Close(), out.Close()))
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
	data := e2e.Must(json.Marshal(v))(b)
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
