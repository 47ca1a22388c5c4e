package push

import (
	"bytes"
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/signature"
)

// setStatements sets the Statements of the attestations about the package.
func (w *work) setStatements(all []Attestation) error {
	for _, a := range all {
		s, err := signature.Statement(w.refs[0].Context().Name(), w.result.Digest, a.Type, a.Predicate)
		if err != nil {
			return fmt.Errorf("reading the attestation of type %q: %w", a.Type, err)
		}
		w.statements = append(w.statements, s)
	}
	return nil
}

// attest adds the attestations that the key has not signed yet. In a dry run it only counts
// them. It is called after sign.
func (w *work) attest(ctx context.Context) error {
	w.result.Attested = 0
	if len(w.statements) == 0 {
		return nil
	}
	digest := w.result.Digest
	tag := w.refs[0].Context().Tag(signature.AttestationTag(digest))
	img, all, err := w.attachment(ctx, tag, image.Attestations)
	if err != nil {
		return err
	}
	for _, s := range w.statements {
		done, err := w.signer.attested(all, digest, s)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		w.result.Attested++
		if w.dry {
			continue
		}
		signed, err := w.signer.attest(ctx, s)
		if err != nil {
			return err
		}
		if img, err = signature.AppendAttestation(img, signed); err != nil {
			return err
		}
	}
	if w.result.Attested == 0 || w.dry {
		return nil
	}
	return w.putAttachment(ctx, img, tag)
}

// attested reports whether all has an attestation of a Statement by the key that is also
// in the log. It does for attestations what has does for signatures. Call prepare before.
func (s *signer) attested(all []signature.Signature, digest v1.Hash, statement []byte) (bool, error) {
	return s.find(all, func(have signature.Signature, verifier []byte) bool {
		for _, found := range signature.Attested([]signature.Signature{have}, digest, s.key.Public()) {
			if bytes.Equal(found[0], statement) && s.logged(have.Bundle, signature.EnvelopeEntry(have.Payload, verifier)) {
				return true
			}
		}
		return false
	})
}
