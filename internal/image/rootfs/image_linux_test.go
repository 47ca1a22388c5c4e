package rootfs_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
)

// The functions file, dir, link, hardLink and whiteout return entries of a layer. Linkname
// has the content of a regular file.

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Linkname: content}
}

func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}
}

func hardLink(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}
}

func whiteout(name string) tar.Header { return file(name, "") }

type layers = [][]tar.Header

// pack returns a tar.
func pack(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	buf := &bytes.Buffer{}
	w := tar.NewWriter(buf)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
			h.Size = int64(len(content))
		}
		e2e.NoError(t, w.WriteHeader(&h))
		e2e.Must(w.Write([]byte(content)))(t)
	}
	e2e.NoError(t, w.Close())
	return buf.Bytes()
}

// zip compresses a tar.
func zip(t testing.TB, plain []byte) []byte {
	t.Helper()
	buf := &bytes.Buffer{}
	w := gzip.NewWriter(buf)
	e2e.Must(w.Write(plain))(t)
	e2e.NoError(t, w.Close())
	return buf.Bytes()
}

func digestOf(t testing.TB, data []byte) v1.Hash {
	t.Helper()
	digest, _, err := v1.SHA256(bytes.NewReader(data))
	e2e.NoError(t, err)
	return digest
}

// layerOf returns a layer that is stored as the bytes stored, and claims the diff ID of
// plain.
func layerOf(t testing.TB, plain, stored []byte) v1.Layer {
	t.Helper()
	l := e2e.Must(oci.Layer(bytes.NewReader(stored), oci.Blob{
		Digest: digestOf(t, stored), Size: int64(len(stored)), DiffID: digestOf(t, plain), MediaType: types.OCILayer,
	}))(t)
	return honest{l, digestOf(t, plain)}
}

// An honest is a layer that returns diffID as its DiffID, without reading the content.
type honest struct {
	v1.Layer
	diffID v1.Hash
}

func (h honest) DiffID() (v1.Hash, error) { return h.diffID, nil }

func imageOfLayers(t testing.TB, all ...v1.Layer) v1.Image {
	t.Helper()
	return e2e.Must(mutate.AppendLayers(empty.Image, all...))(t)
}

// imageOf returns an image of layers, the bottom layer first.
func imageOf(t testing.TB, all ...[]tar.Header) v1.Image {
	t.Helper()
	var made []v1.Layer
	for _, entries := range all {
		plain := pack(t, entries...)
		made = append(made, layerOf(t, plain, zip(t, plain)))
	}
	return imageOfLayers(t, made...)
}

// sparse returns a layer with one sparse file of size bytes: a hole, and one byte at the
// end (GNU's sparse format 1.0).
func sparse(t testing.TB, size int64) v1.Layer {
	t.Helper()
	content := fmt.Appendf(nil, "1\n%d\n1\n", size-1)
	content = append(content, make([]byte, 512-len(content))...)
	content = append(content, 'x')
	plain := pack(t, tar.Header{
		Typeflag: tar.TypeReg, Name: "GNUSparseFile.0/big", Mode: 0o644, Linkname: string(content), Format: tar.FormatPAX,
		PAXRecords: map[string]string{"XNU.sparse.major": "1", "XNU.sparse.minor": "0", "XNU.sparse.name": "big", "XNU.sparse.realsize": fmt.Sprint(size)},
	})
	// archive/tar refuses to write records named GNU.sparse, so they are renamed after
	// writing.
	plain = bytes.ReplaceAll(plain, []byte("XNU.sparse"), []byte("GNU.sparse"))
	return layerOf(t, plain, plain)
}

// A madeLayer generates its content while it is read.
type madeLayer struct {
	v1.Layer
	make func(io.Writer) error
}

func (l madeLayer) Compressed() (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.make(w)) }()
	return r, nil
}
