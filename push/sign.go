package push

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// sign adds a signature of the package to those that it has, unless the key has
// made one already. The package is there by its digest before, so that the
// repository exists and can be asked, and no tag is at it yet.
//
// Two who sign the same digest at the same moment may lose one of the two
// signatures, as with cosign: a registry has no way to append.
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
	if err := w.putSignatures(ctx, tag, img); err != nil {
		return err
	}
	w.signed = true
	return nil
}

// signatures returns those that the package has. In a dry run the repository may
// be one that does not exist yet, and that some registries refuse to show.
func (w *work) signatures(ctx context.Context, tag name.Tag) (v1.Image, []signature.Signature, error) {
	if w.dry {
		at, err := w.to.ManifestAt(ctx, tag.TagStr())
		if err != nil || at == (v1.Hash{}) {
			return nil, nil, err
		}
	}
	return image.Signatures(ctx, tag.Context(), w.result.Digest, w.remote)
}

// putSignatures sends what is new of an image of signatures.
func (w *work) putSignatures(ctx context.Context, tag name.Tag, img v1.Image) error {
	p, err := planOf(ctx, img)
	if err != nil {
		return err
	}
	for _, b := range p.blobs {
		found, err := w.to.Find(ctx, b.Descriptor)
		if err != nil {
			return err
		}
		if found.There {
			continue
		}
		if _, err := w.to.Upload(ctx, b, remote.Found{}); err != nil {
			return err
		}
	}
	return w.to.PutManifest(ctx, tag.TagStr(), p.result.MediaType, p.manifests[0].Raw)
}
