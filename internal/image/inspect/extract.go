package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

// maxLayer limits the bytes of the uncompressed layer that WriteLayer writes.
const maxLayer = 16 << 30

// WriteLayer writes the decompressed tar of a layer to w, up to 16 GiB. name is a layer's
// digest, the first digits of its digest, or its Mark. After an error, such as a wrong
// digest, w may have received a part of the layer.
func WriteLayer(ctx context.Context, w io.Writer, img v1.Image, name string) (err error) {
	l, err := find(img, name)
	if err != nil {
		return err
	}
	left := int64(maxLayer)
	rc, err := oci.Plain(ctx, l, &left)
	if err != nil {
		return fmt.Errorf("reading the layer: %w", err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	if _, err := io.Copy(w, rc); err != nil {
		return fmt.Errorf("copying the layer: %w", err)
	}
	if err := rc.Finish(); err != nil {
		return fmt.Errorf("reading the layer: %w", err)
	}
	return nil
}

// find returns the layer that name selects: by its digest, the first digits of the digest,
// or its Mark. It returns an error if several different layers match.
func find(img v1.Image, name string) (v1.Layer, error) {
	described, err := describe(xpkg.PlatformImage{Image: img})
	if err != nil {
		return nil, err
	}
	var fit []string
	for _, l := range described.Layers {
		if name != "" && l.Mark == name || isDigits(name) && strings.HasPrefix(strings.TrimPrefix(l.Digest, "sha256:"), strings.TrimPrefix(name, "sha256:")) {
			fit = append(fit, l.Digest)
		}
	}
	slices.Sort(fit)
	fit = slices.Compact(fit)
	if len(fit) == 0 {
		return nil, fmt.Errorf("the image has no layer %q", name)
	}
	if len(fit) > 1 {
		return nil, fmt.Errorf("%q matches several layers: %s", name, strings.Join(fit, ", "))
	}
	h, _ := v1.NewHash(fit[0]) // It is the text of a digest.
	l, err := img.LayerByDigest(h)
	if err != nil {
		return nil, fmt.Errorf("finding layer %s: %w", h, err)
	}
	return l, nil
}

// minDigits is the minimum number of digits that can select a layer by its digest. A shorter
// name can only be a Mark.
const minDigits = 6

func isDigits(name string) bool {
	hex := strings.TrimPrefix(name, "sha256:")
	return len(hex) >= minDigits && strings.Trim(hex, "0123456789abcdef") == ""
}
