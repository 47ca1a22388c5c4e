package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, err := zw.Write(data)
	e2e.NoError(t, errors.Join(err, zw.Close()))
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	return e2e.Must(zstd.NewWriter(nil))(t).EncodeAll(data, nil)
}

// archives returns archives of all kinds.
func archives(t testing.TB) map[string][]byte {
	t.Helper()
	layer, other := string(tarOf(t, member{name: "a", text: strings.Repeat("b", 5000)})), string(tarOf(t))
	config := `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["sha256:` + sha(layer) + `","sha256:` + sha(other) + `","sha256:` + sha(layer) + `"]}}`
	docker := func(layers ...string) member {
		return member{name: "manifest.json", text: `[{"Config":"c.json","Layers":["` + strings.Join(layers, `","`) + `"]}]`}
	}
	zipped := string(gzipped(t, []byte(layer)))
	plainType, gzipType := "application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip"
	manifest := `{"schemaVersion":2,"config":` + desc(configType, config) + `,"layers":[` + desc(plainType, layer) + `,` + desc(plainType, other) + `,` + desc(gzipType, zipped) + `]}`
	saved := filepath.Join(t.TempDir(), "saved.tar")
	e2e.NoError(t, tarball.WriteToFile(saved, name.MustParseReference("a:v1"), image(t, "linux", "arm64")))
	return map[string][]byte{
		"Ours":      write(t, image(t, "linux", "amd64")),
		"OurIndex":  write(t, remotetest.Index(image(t, "linux", "amd64"), image(t, "linux", "arm64"))),
		"Crane":     []byte(e2e.ReadFile(t, saved)),
		"Layout":    tarOf(t, layoutOf(desc(manifestType, manifest), blob(manifest), blob(config), blob(layer), blob(other), blob(zipped))...),
		"Unordered": tarOf(t, docker("3/layer.tar", "1/layer.tar", "2/layer.tar"), member{name: "1/json", text: "{}"}, member{name: "1/layer.tar", text: other}, member{name: "2/layer.tar", link: "../3/layer.tar", kind: tar.TypeSymlink}, member{name: "c.json", text: config}, member{name: "3/layer.tar", text: layer}),
		"Zipped":    tarOf(t, docker("1", "2", "1"), member{name: "c.json", text: config}, member{name: "1", text: zipped}, member{name: "2", text: string(zstandard(t, []byte(other)))}),
	}
}

// A stream, compressed or not, is read as the same artifact as a file.
func TestReadIsOpen(t *testing.T) {
	for name, data := range archives(t) {
		want := open(t, file(t, data))
		for how, stored := range map[string][]byte{"Plain": data, "Gzip": gzipped(t, data), "Zstd": zstandard(t, data)} {
			t.Run(name+how, func(t *testing.T) {
				d, _ := draft(t)
				got := e2e.Must(archive.Read(t.Context(), iotest.HalfReader(bytes.NewReader(stored)), d))(t)
				e2e.Equal(t, "a Docker archive has its Docker image", want.Docker, got.Docker)
				if digest(t, got.Artifact) != digest(t, want.Artifact) {
					t.Errorf("got %s, want %s", digest(t, got.Artifact), digest(t, want.Artifact))
				}
				e2e.Equal(t, "a file that is written again has the same bytes", write(t, want.Artifact), write(t, got.Artifact))
				e2e.NoError(t, got.Close())
			})
		}
	}
}

// Plain tars are compressed while they are read, and can be found by diff ID.
func TestReadCompresses(t *testing.T) {
	d, _ := draft(t)
	f := e2e.Must(archive.Read(t.Context(), bytes.NewReader(archives(t)["Unordered"]), d))(t)
	for i, l := range e2e.Must(f.Artifact.(v1.Image).Layers())(t) {
		id := e2e.Must(l.DiffID())(t)
		if l, ok := d.Compressed(id); !ok || l.Blob.DiffID != id || l.Blob.Digest == id {
			t.Errorf("layer %d: got %+v, %v", i, l.Blob, ok)
		}
	}
}

func half(data []byte) []byte { return data[:len(data)/2] }

func TestReadRefuses(t *testing.T) {
	layer := string(tarOf(t, member{name: "a", text: "b"}))
	config := func(id string) member {
		return member{name: "c", text: `{"rootfs":{"type":"layers","diff_ids":["sha256:` + id + `"]}}`}
	}
	docker := member{name: "manifest.json", text: `[{"Config":"c","Layers":["l"]}]`}
	manifest := `{"schemaVersion":2,"config":` + desc(configType, config(sha(layer)).text) + `,"layers":[` + desc("application/vnd.oci.image.layer.v1.tar", layer) + `]}`
	inLayout := func(stored member) []byte {
		return tarOf(t, layoutOf(desc(manifestType, manifest), blob(manifest), blob(config(sha(layer)).text), stored)...)
	}
	changed := strings.Replace(layer, "b", "x", 1)
	whole := archives(t)["Ours"]
	zipped := gzipped(t, whole)
	broken := bytes.Clone(zipped)
	broken[len(broken)-6] ^= 1
	cases := map[string]struct {
		reason string
		data   []byte
		want   string
	}{
		"Empty":        {"an empty stream is an error", nil, "the file is empty"},
		"Text":         {"a text is not a tar", bytes.Repeat([]byte("hello\n"), 1000), "the file is not a tar file"},
		"WebPage":      {"a web page is not a tar", []byte("<!DOCTYPE html><html>"), "the file is a web page in HTML"},
		"Pointer":      {"a pointer of Git LFS has no content", gzipped(t, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")), "the file is a pointer of Git LFS"},
		"NoImage":      {"a tar without an image is an error", tarOf(t, member{name: "a", text: "b"}), "the archive is not an image"},
		"CutPlain":     {"a truncated stream is an error", half(whole), "the tar file is truncated"},
		"CutGzip":      {"a truncated gzip stream is an error", half(zipped), "the tar file is truncated"},
		"CutZstd":      {"a truncated zstd stream is an error", append(zstandard(t, half(whole)), half(zstandard(t, whole))...), "the tar file is truncated"},
		"Checksum":     {"a corrupted stream is an error", broken, "checksum"},
		"GzipOfText":   {"compressed data must be a tar", gzipped(t, []byte("hello")), "the file is not a tar file"},
		"MissingLayer": {"a missing layer is an error", tarOf(t, docker, config(sha(layer))), "layer 1 (l): the file is missing"},
		"MissingBlob":  {"a missing layer of a layout is an error", tarOf(t, layoutOf(desc(manifestType, manifest), blob(manifest), blob(config(sha(layer)).text))...), "is missing"},
		"DockerLie":    {"a wrong digest of a layer is an error", tarOf(t, docker, config(sha("other")), member{name: "l", text: layer}), "but the config says"},
		"LayoutLie":    {"a wrong digest in a layout is an error", inLayout(member{name: blob(layer).name, text: changed}), "has the digest"},
		"ZippedLie":    {"a wrong digest of a compressed layer is an error", tarOf(t, layoutOf(desc(manifestType, strings.Replace(manifest, sha(layer), sha("z"), 1)), blob(strings.Replace(manifest, sha(layer), sha("z"), 1)), blob(config(sha(layer)).text), member{name: "blobs/sha256/" + sha("z"), text: (string(gzipped(t, []byte(layer))) + strings.Repeat("x", 5000))[:len(layer)]})...), "has the digest"},
		"NotALayer":    {"a layer must be a tar", tarOf(t, docker, config(sha("x")), member{name: "l", text: strings.Repeat("x", 600)}), "not a tar"},
		"TarManifest":  {"a layer in place of a manifest is an error", tarOf(t, member{name: "manifest.json", text: layer}), "not valid JSON"},
		"Sparse":       {"a sparse file is an error", sparse(t), "is a sparse file"},
		"Metadata":     {"the memory for metadata is limited", tarOf(t, member{name: "a", text: strings.Repeat(" ", 40<<20)}, member{name: "b", text: strings.Repeat(" ", 40<<20)}), "larger than 64 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, _ := draft(t)
			_, err := archive.Read(t.Context(), bytes.NewReader(tc.data), d)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: want one sentence with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// A few MiB that unpack to more than a GiB are not read to their end.
func TestReadBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("it unpacks a GiB")
	}
	const member, members = 16 << 20, 1 << 10
	var head bytes.Buffer
	e2e.NoError(t, tar.NewWriter(&head).WriteHeader(&tar.Header{Typeflag: tar.TypeCont, Name: "passed over", Size: member * members}))
	zeros := gzipped(t, make([]byte, member))
	in := []io.Reader{bytes.NewReader(gzipped(t, head.Bytes()))}
	for range members {
		in = append(in, bytes.NewReader(zeros))
	}
	d, f := draft(t)
	e2e.ErrorHas(t, "the size of the unpacked archive is limited", e2e.Err(archive.Read(t.Context(), io.MultiReader(in...), d)), "the archive unpacks to more than 200 times its size")
	e2e.Equal(t, "the bytes of the layer that are left", int64(0), sizeOf(t, f))
}

func TestReadStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	d, _ := draft(t)
	e2e.ErrorIs(t, "Read returns the cause of its context", e2e.Err(archive.Read(ctx, bytes.NewReader(archives(t)["Ours"]), d)), stopped)
}

// An error of the stream's reader is returned.
func TestReadReturnsReaderError(t *testing.T) {
	data := archives(t)["Unordered"]
	broken := errors.New("the engine went away")
	for _, n := range []int{0, 300, 700, len(data) / 2, len(data) - 1024} {
		d, _ := draft(t)
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))
		e2e.ErrorIs(t, fmt.Sprintf("an error after %d bytes is returned", n), e2e.Err(archive.Read(t.Context(), r, d)), broken)
	}
}

// Read needs what follows the end marker of a tar only if it is compressed.
func TestReadEnds(t *testing.T) {
	data := archives(t)["Unordered"]
	broken := errors.New("the engine went away")
	d, _ := draft(t)
	_, err := archive.Read(t.Context(), io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), d)
	e2e.NoError(t, err)
	_, err = archive.Read(t.Context(), io.MultiReader(bytes.NewReader(gzipped(t, data)), iotest.ErrReader(broken)), d)
	e2e.ErrorIs(t, "the bytes after a compressed tar are read", err, broken)
}

// Read returns an error for a stream, or an artifact that can be written twice, with the
// same bytes.
func FuzzRead(f *testing.F) {
	for _, data := range archives(f) {
		f.Add(data)
		f.Add(gzipped(f, data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _ := draft(t)
		got, err := archive.Read(t.Context(), bytes.NewReader(data), d)
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if archive.Write(t.Context(), &once, got.Artifact, "", nil) != nil {
			return
		}
		if err := archive.Write(t.Context(), &twice, got.Artifact, "", nil); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("writing it again differs: %v", err)
		}
	})
}
