package push

import (
	"bytes"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/signature"
)

func (w *work) setStatements() error {
	for _, a := range w.Attestations {
		s, err := signature.Statement(w.refs[0].Context().Name(), w.result.Digest, a.Type, a.Predicate)
		if err != nil {
			return fmt.Errorf("reading the attestation of type %q: %w", a.Type, err)
		}
		w.statements = append(w.statements, s)
	}
	return nil
}

// A claim is what the signer signs: a signature of the package, or an attestation.
type claim struct {
	// matches reports whether a signature is the claim by a key.
	matches func(signature.Signature, *signature.PublicKey) bool
	create  func(*signature.PrivateKey) (signature.Signature, error)
	// entry returns the entry in a log. verifier is the public key in PEM.
	entry func(signed signature.Signature, verifier []byte) signature.LogEntry
}

func signatureOf(repo name.Repository, digest v1.Hash) claim {
	return claim{
		matches: func(have signature.Signature, key *signature.PublicKey) bool {
			return key.Count([]signature.Signature{have}, digest) > 0
		},
		create: func(key *signature.PrivateKey) (signature.Signature, error) { return key.Sign(repo, digest) },
		entry: func(signed signature.Signature, verifier []byte) signature.LogEntry {
			return signature.HashedEntry(signed.Payload, signed.Value, verifier)
		},
	}
}

func attestationOf(digest v1.Hash, statement []byte) claim {
	return claim{
		matches: func(have signature.Signature, key *signature.PublicKey) bool {
			for _, found := range signature.Attested([]signature.Signature{have}, digest, key) {
				return bytes.Equal(found[0], statement)
			}
			return false
		},
		create: func(key *signature.PrivateKey) (signature.Signature, error) { return key.Attest(statement) },
		entry: func(signed signature.Signature, verifier []byte) signature.LogEntry {
			return signature.EnvelopeEntry(signed.Payload, verifier)
		},
	}
}
