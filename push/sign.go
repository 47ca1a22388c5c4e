package push

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// Sign signs the image or index at ref, which is in a registry already, as Options.SignKey,
// Keyless and Log describe. It changes no tags except the tags of the signatures and of the
// attestations. In the result, Platforms and Traffic are not set.
//
// An error names ref. It contains no credentials.
func Sign(ctx context.Context, ref name.Reference, o Options) (Result, error) {
	err := o.complete(ref.Context())
	if err == nil && o.signer == nil {
		err = errors.New("no key and no identity token are given")
	}
	if err != nil {
		return Result{}, fmt.Errorf("signing %q: %w", ref.Name(), err)
	}
	w := &work{plan: &plan{}, Options: o, refs: []name.Reference{ref}}
	if err := w.signExisting(ctx); err != nil {
		return Result{}, fmt.Errorf("signing %q: %w", ref.Name(), o.client.Explain(ref, err))
	}
	return w.finished(), nil
}

func (w *work) signExisting(ctx context.Context) error {
	from, err := w.client.Repository(ctx, w.refs[0].Context())
	if err != nil {
		return err
	}
	top, err := from.Manifest(ctx, w.refs[0].Identifier())
	if err != nil {
		return err
	}
	w.result.Digest, w.result.MediaType = top.Digest, top.MediaType
	if err := w.setStatements(); err != nil {
		return err
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	return w.sign(ctx)
}

// sign adds a signature of the package to the existing signatures, unless one of these
// is by the key already. The caller must have pushed the package by its digest, so that
// the repository exists, and must not have written a tag yet.
//
// If two pushes sign the same digest at the same time, one signature may be lost, as with
// cosign: registries can replace the list of signatures, but cannot append to it.
func (w *work) sign(ctx context.Context) error {
	if w.signer == nil {
		return nil
	}
	if err := w.signer.prepare(ctx); err != nil {
		return err
	}
	repo, digest := w.refs[0].Context(), w.result.Digest
	tag := signature.Tag(repo, digest)
	w.result.Signature = tag.Name()
	added, err := w.addClaims(ctx, tag, image.Signatures, signature.Append, signatureOf(repo, digest))
	if err != nil {
		return err
	}
	w.result.Signed, w.signed = added > 0, added == 0 || !w.DryRun
	var attestations []claim
	for _, s := range w.statements {
		attestations = append(attestations, attestationOf(digest, s))
	}
	if len(attestations) > 0 {
		w.result.Attested, err = w.addClaims(ctx, repo.Tag(signature.AttestationTag(digest)), image.Attestations, signature.AppendAttestation, attestations...)
	}
	return err
}

type readAttachment = func(context.Context, name.Repository, v1.Hash, *remote.Client) (v1.Image, []signature.Signature, error)

// addClaims adds the claims that the key has not signed yet to the existing ones, which read reads from
// tag, and returns their number. In a dry run it only counts them, and first checks that tag exists,
// because some registries refuse to read a repository that does not exist yet.
func (w *work) addClaims(ctx context.Context, tag name.Tag, read readAttachment, appendTo func(v1.Image, signature.Signature) (v1.Image, error), claims ...claim) (added int, err error) {
	var img v1.Image
	var all []signature.Signature
	exists := true
	if w.DryRun {
		var at v1.Hash
		at, err = w.to.ManifestAt(ctx, tag.TagStr())
		exists = at != v1.Hash{}
	}
	if err == nil && exists {
		img, all, err = read(ctx, tag.Context(), w.result.Digest, w.client)
	}
	if err != nil {
		return 0, err
	}
	for _, c := range claims {
		done, err := w.signer.has(all, c)
		if err != nil {
			return added, err
		}
		if done {
			continue
		}
		if added++; w.DryRun {
			continue
		}
		signed, err := w.signer.sign(ctx, c)
		if err != nil {
			return added, err
		}
		if img, err = appendTo(img, signed); err != nil {
			return added, err
		}
	}
	if added == 0 || w.DryRun {
		return added, nil
	}
	return added, w.putAttachment(ctx, img, tag)
}

func (w *work) putAttachment(ctx context.Context, img v1.Image, tag name.Tag) error {
	p, err := planOf(ctx, img)
	if err != nil {
		return err
	}
	put := &work{plan: p, Options: Options{Jobs: w.Jobs}, refs: []name.Reference{tag}, to: w.to}
	return put.do(ctx)
}
