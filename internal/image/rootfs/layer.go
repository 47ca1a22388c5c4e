package rootfs

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// layer applies the layer l to the tree. It subtracts the number of bytes of the
// uncompressed layer from *left.
func (t *tree) layer(ctx context.Context, l v1.Layer, diffID v1.Hash, left *int64) (err error) {
	plain, err := oci.Plain(ctx, l, left)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	ahead, stop := oci.Ahead(plain)
	defer stop()
	sum := sha256.New()
	in := io.TeeReader(ahead, sum)
	t.made = made{}
	err = oci.ReadTar(in, func(h *tar.Header, content io.Reader) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return t.apply(h, content)
	})
	if err == nil {
		_, err = io.Copy(io.Discard, in) // The diff ID includes the bytes after the last entry.
	}
	if errors.Is(err, oci.ErrTooLarge) {
		return fmt.Errorf("this layer and the layers below it have more than %d bytes", t.limits.Bytes)
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); diffID.Algorithm != "sha256" || diffID.Hex != got {
		return fmt.Errorf("the content of the layer does not match the image's config: got sha256:%s, want %s", got, diffID)
	}
	return nil
}
