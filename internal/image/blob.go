package image

import (
	"context"
	"errors"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

// check reads a blob to its end, and compares it with its digest. One that has
// another may have been flawed on the way, and is read once more. moved hears of
// each change of how many bytes were read.
func check(ctx context.Context, from *remote.Blobs, d v1.Descriptor, moved func(bytes int64)) error {
	err := read(ctx, from, d, moved)
	if errors.As(err, new(*oci.MismatchError)) {
		err = read(ctx, from, d, moved)
	}
	return err
}

func read(ctx context.Context, from *remote.Blobs, d v1.Descriptor, moved func(int64)) (err error) {
	blob, err := oci.Verify(from.Stream(ctx, d, 0), d.Digest, d.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	n, err := io.Copy(counter(moved), blob)
	if err != nil {
		moved(-n)
	}
	return err
}

// A counter tells how much is written to it.
type counter func(bytes int64)

// Write implements io.Writer.
func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}
