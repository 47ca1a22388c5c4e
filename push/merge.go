package push

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/signature"
)

// merge adds the signatures or attestations that are at the destination to the plan of w,
// unless w replaces something else. A registry cannot append to a list: what another client
// adds at the same time may be lost, as with cosign.
func (c *copying) merge(ctx context.Context, w *work) error {
	tag, ok := w.refs[0].(name.Tag)
	if !ok || c.dry || !signature.IsList(tag.TagStr()) {
		return nil
	}
	at, err := w.to.ManifestAt(ctx, tag.TagStr())
	if err != nil || at == (v1.Hash{}) || at == w.result.Digest {
		return err
	}
	there, err := image.Attachment(ctx, tag, c.options.client)
	if err != nil || there == nil {
		return err
	}
	// The source's tag may have moved, or may be gone, since its manifest was read.
	from := c.from.Context().Digest(w.result.Digest.String())
	copied, err := image.Attachment(ctx, from, c.options.client)
	if err != nil {
		return c.options.client.Explain(from, err)
	}
	if copied == nil {
		return fmt.Errorf("%q was deleted during the copy", from.Name())
	}
	merged, err := signature.Merge(there, copied)
	if err != nil {
		return err
	}
	w.plan, err = planOf(ctx, merged)
	return err
}
