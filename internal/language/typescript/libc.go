package typescript

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
	"github.com/xfn-dev/xfn/internal/oci"
)

// libcOf returns the libc of a base image: that of the first file in its layers that is the
// libc or its loader. Without such a file, it is glibc.
func libcOf(ctx context.Context, img v1.Image) (libc string, err error) {
	libc = npm.Glibc
	_, err = find(ctx, img, func(h *tar.Header) bool {
		musl := strings.HasPrefix(path.Base(h.Name), "ld-musl-")
		if musl {
			libc = npm.Musl
		}
		return musl || path.Base(h.Name) == "libc.so.6"
	})
	return libc, err
}

// hasNode reports whether a base image has a program node.
func hasNode(ctx context.Context, img v1.Image) (bool, error) {
	return find(ctx, img, func(h *tar.Header) bool { return path.Base(h.Name) == "node" && h.Typeflag != tar.TypeDir })
}

// find reads the layers of an image up to the first file that is accepted.
func find(ctx context.Context, img v1.Image, accepted func(h *tar.Header) bool) (found bool, err error) {
	layers, err := img.Layers()
	left := int64(oci.MaxUnpacked)
	for _, l := range layers {
		if err == nil && !found {
			found, err = findIn(ctx, l, &left, accepted)
		}
	}
	if err != nil {
		err = fmt.Errorf("reading the base image: %w", err)
	}
	return found, err
}

// errFound stops the reading of a layer.
var errFound = errors.New("found")

// findIn reads a layer up to the first file that is accepted.
func findIn(ctx context.Context, l v1.Layer, left *int64, accepted func(h *tar.Header) bool) (found bool, err error) {
	in, err := oci.Plain(ctx, l, left)
	if err != nil {
		return false, err
	}
	err = oci.ReadTar(in, func(h *tar.Header, _ io.Reader) error {
		if accepted(h) {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		found, err = true, nil
	}
	return found, errors.Join(err, in.Close())
}
