package typescript

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
	"github.com/xfn-dev/xfn/internal/oci"
)

// libcOf returns the libc of a base image. The first file in its layers that is a libc or
// its loader decides. Without such a file, libcOf returns glibc.
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

// find reads the layers of an image up to the first file that is accepted.
func find(ctx context.Context, img v1.Image, accepted func(h *tar.Header) bool) (bool, error) {
	err := oci.ReadLayers(ctx, img, func(h *tar.Header, _ io.Reader) error {
		if accepted(h) {
			return fs.SkipAll
		}
		return nil
	})
	if err == nil || errors.Is(err, fs.SkipAll) {
		return err != nil, nil
	}
	return false, fmt.Errorf("reading the base image: %w", err)
}
