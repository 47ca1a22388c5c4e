package xpkg_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

// tarOf returns a tar of files with these names. The content of each is its
// index; a name that ends in "/" is a directory.
func tarOf(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for i, name := range names {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o644}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		e2e.NoError(t, tw.WriteHeader(h))
		e2e.Must(io.WriteString(tw, strconv.Itoa(i)[:h.Size]))(t)
	}
	e2e.NoError(t, tw.Close())
	return b.Bytes()
}

// unmarked returns an image of layers, bottom first, without layer annotations.
func unmarked(t testing.TB, layers ...[]byte) v1.Image {
	t.Helper()
	var descs []v1.Descriptor
	var all []v1.Layer
	for _, data := range layers {
		l := static.NewLayer(data, types.OCIUncompressedLayer)
		d := e2e.Must(oci.Describe(l))(t)
		all, descs = append(all, l), append(descs, d)
	}
	return e2e.Must(oci.Assemble([]byte("{}"), descs, all...))(t)
}

// If no layer is annotated as the base layer, PackageYAML reads the unpacked root
// file system.
func TestPackageYAMLOfLayers(t *testing.T) {
	type layers [][]string
	cases := map[string]struct {
		reason    string
		layers    layers
		want, err string
	}{
		"First":        {"the first file named package.yaml in a layer is read", layers{{"a", "package.yaml", "b/package.yaml"}}, "1", ""},
		"Top":          {"the file of the top layer has priority", layers{{"package.yaml"}, {"a", "b", "c/package.yaml"}}, "2", ""},
		"Below":        {"a lower layer is read if the top one lacks the file", layers{{"a", "package.yaml"}, {"b"}}, "1", ""},
		"Prefix":       {"a name may begin with ./", layers{{"a", "./package.yaml"}}, "1", ""},
		"Deleted":      {"a whiteout in an upper layer deletes the file", layers{{"package.yaml"}, {".wh.package.yaml"}}, "", "the image is not a package"},
		"DeletedSlash": {"a whiteout may begin with ./", layers{{"package.yaml"}, {"./.wh.package.yaml"}}, "", "the image is not a package"},
		"DeletedAbove": {"a whiteout of a parent directory deletes the file", layers{{"a/b/package.yaml", "package.yaml"}, {".wh.a"}}, "1", ""},
		"NoDirectory":  {"a file in place of a parent directory deletes the file", layers{{"a/b/package.yaml", "package.yaml"}, {"a"}}, "1", ""},
		"Directory":    {"a directory in place of the file deletes it", layers{{"package.yaml"}, {"package.yaml/"}}, "", "the image is not a package"},
		"Sibling":      {"a file or whiteout with a similar name does not delete the file", layers{{"x", "ab/package.yaml"}, {"a", ".wh.b"}}, "1", ""},
		"Nothing":      {"an image without layers is not a package", nil, "", "the image is not a package"},
		"LongName":     {"a name longer than a path may be is refused", layers{{strings.Repeat("a/", 3000), "package.yaml"}}, "", "longer names"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var all [][]byte
			for _, names := range tc.layers {
				all = append(all, tarOf(t, names...))
			}
			got, err := xpkg.PackageYAML(t.Context(), unmarked(t, all...))
			if tc.err == "" && (err != nil || string(got) != tc.want) {
				t.Errorf("%s: got %q, %v, want %q", tc.reason, got, err, tc.want)
			}
			if tc.err != "" && (err == nil || got != nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s: got %q, %v, want it to contain %q", tc.reason, got, err, tc.err)
			}
		})
	}
}

// endless is a tar without an end: the header of an entry, then zeros, or copies of
// the header if repeat is true. A read after the first MiB calls the function later.
type endless struct {
	header []byte
	repeat bool
	later  func()
}

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	if at > 1<<20 {
		e.later()
	}
	clear(p)
	for i := 0; i < len(p); {
		if at >= int64(len(e.header)) && !e.repeat {
			break
		}
		n := copy(p[i:], e.header[at%int64(len(e.header)):])
		i, at = i+n, at+int64(n)
	}
	return len(p), nil
}

// PackageYAML limits how much of a compressed layer it unpacks, and stops
// within an entry if the context is canceled.
func TestPackageYAMLBounds(t *testing.T) {
	header := func(name string, size int64) []byte {
		var b bytes.Buffer
		e2e.NoError(t, tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Format: tar.FormatGNU}))
		return b.Bytes()
	}
	stopped := errors.New("the user stopped it")
	cases := map[string]struct {
		reason     string
		header     []byte
		repeat     bool
		mark, want string
	}{
		"Bytes":       {"the size of an entry is limited", header("big", 5<<30), false, "", "larger than 4 GiB"},
		"Entries":     {"the number of entries is limited", header("a", 0), true, "", "more files"},
		"Names":       {"the total length of names is limited", header(strings.Repeat("n", 4000), 0), true, "", "longer names"},
		"Stopped":     {"a cancellation stops the read of a large entry", header("big", 3<<30), false, "", stopped.Error()},
		"BaseStopped": {"a cancellation stops the read of a base layer", header("big", 3<<30), false, "base", stopped.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.repeat && testing.Short() {
				t.Skip("it reads millions of headers")
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			later := func() {}
			if tc.want == stopped.Error() {
				later = func() { cancel(stopped) }
			}
			img, err := annotated(endless{tc.header, tc.repeat, later}, v1.Descriptor{
				Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}, Size: 6 << 30,
				MediaType: types.OCIUncompressedLayer, Annotations: map[string]string{xpkg.Annotation: tc.mark},
			})
			e2e.NoError(t, err)
			if _, err = xpkg.PackageYAML(ctx, img); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want it to contain %q", tc.reason, err, tc.want)
			}
		})
	}
}
