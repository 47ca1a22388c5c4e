package push

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/signature"
)

// sign adds a signature of the package to the existing ones, unless one is by
// the key already. The caller must have pushed the package by its digest, so
// that the repository exists, and must not have written a tag yet.
//
// If two pushes sign the same digest at the same time, one signature may be lost, as with
// cosign: registries can replace the list of signatures, but cannot append to it.
func (w *work) sign(ctx context.Context) error {
	if w.key == nil {
		return nil
	}
	repo, digest := w.refs[0].Context(), w.result.Digest
	tag := signature.Tag(repo, digest)
	w.result.Signature = tag.Name()
	img, all, err := w.signatures(ctx, tag)
	if err != nil {
		return err
	}
	w.signed = w.key.Public().Count(all, digest) > 0
	w.result.Signed = !w.signed
	if w.signed || w.dry {
		return nil
	}
	s, err := w.key.Sign(repo, digest)
	if err != nil {
		return err
	}
	if img, err = signature.Append(img, s); err != nil {
		return err
	}
	p, err := planOf(ctx, img)
	if err != nil {
		return err
	}
	put := &work{plan: p, refs: []name.Reference{tag}, jobs: w.jobs, to: w.to, report: func(int64) {}}
	if err := put.do(ctx); err != nil {
		return err
	}
	w.signed = true
	return nil
}

// signatures returns the existing signatures of the package, which are stored at tag. In a
// dry run it first checks that tag exists, because some registries refuse to read a
// repository that does not exist yet.
func (w *work) signatures(ctx context.Context, tag name.Tag) (v1.Image, []signature.Signature, error) {
	if w.dry {
		at, err := w.to.ManifestAt(ctx, tag.TagStr())
		if err != nil || at == (v1.Hash{}) {
			return nil, nil, err
		}
	}
	return image.Signatures(ctx, tag.Context(), w.result.Digest, w.remote)
}
