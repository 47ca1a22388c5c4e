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
	layers, err := img.Layers()
	left := int64(oci.MaxUnpacked)
	for _, l := range layers {
		if err == nil && libc == "" {
			libc, err = libcIn(ctx, l, &left)
		}
	}
	if err != nil {
		return "", fmt.Errorf("reading the base image: %w", err)
	}
	if libc == "" {
		libc = npm.Glibc
	}
	return libc, nil
}

// errFound stops the reading of a layer.
var errFound = errors.New("found")

// libcIn returns the libc that a layer has, or "". It reads the layer up to that file.
func libcIn(ctx context.Context, l v1.Layer, left *int64) (libc string, err error) {
	in, err := oci.Plain(ctx, l, left)
	if err != nil {
		return "", err
	}
	err = oci.ReadTar(in, func(h *tar.Header, _ io.Reader) error {
		switch name := path.Base(h.Name); {
		case name == "libc.so.6":
			libc = npm.Glibc
		case strings.HasPrefix(name, "ld-musl-"):
			libc = npm.Musl
		default:
			return nil
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return libc, errors.Join(err, in.Close())
}
