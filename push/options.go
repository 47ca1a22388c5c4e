package push

import (
	"cmp"
	"crypto"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/remote"
)

// Options are the options of a push. The zero value works with registries that
// require no credentials.
type Options struct {
	// Keychain finds the credentials of registries, such as
	// authn.DefaultKeychain. Nil means anonymous access.
	Keychain authn.Keychain
	// Transport sends the requests to registries. Nil means the transport of
	// go-containerregistry. Package push adds authentication, retries and
	// timeouts. Registries at loopback and private addresses may use plain HTTP.
	Transport http.RoundTripper
	// Services sends the requests to the transparency log and the certificate authority,
	// which may have stricter rules for TLS than registries. Nil means Transport.
	Services http.RoundTripper
	// Jobs is how many blobs are uploaded at a time. Zero means 4.
	Jobs int
	// Tags are further tags of the same repository. They are written after the first tag.
	// A tag of another repository is an error.
	Tags []name.Tag
	// MountFrom are repositories of the same registry that may have blobs of the
	// package. Blobs found there are mounted and not uploaded. The repositories
	// of the package's base images are always tried.
	MountFrom []name.Repository
	// SignKey signs the package: an ECDSA key on P-256, P-384 or P-521, an RSA key of 2048,
	// 3072 or 4096 bits, or an Ed25519 key. The signature is stored as cosign stores it,
	// before any tag is written. Signatures by other keys stay, and an existing signature
	// by this key is not repeated. Nil means no signature.
	SignKey crypto.Signer
	// Keyless signs the package with a new key, for which a certificate authority confirms
	// an identity, instead of SignKey. Nil means not to.
	Keyless *Keyless
	// Log is the transparency log that publishes the signature. Then the package has a
	// signature only if the log has it, too. Nil means no log, except for Keyless, which
	// requires one.
	Log *Log
	// Attestations are signed as the package is, and stored as cosign stores them, before
	// any tag is written. Existing attestations stay, and an attestation that the key has
	// signed already is not repeated.
	Attestations []Attestation
	// Prove reads all layers before the first upload, unless a tag is at the package
	// already. It returns an error for a layer whose uncompressed bytes do not have the
	// digest that the image config lists; container engines cannot run such an image.
	Prove bool
	// DryRun computes the result without writing to the registry.
	DryRun bool
	// Progress is called with the bytes of the package that are in the registry
	// and their total, by one goroutine at a time. It may be nil.
	Progress func(text string, done, total int64)

	client *remote.Client
	signer *signer
}

// An Attestation is a claim about a package (in-toto attestation framework).
type Attestation struct {
	// Type is the URI of the predicate's type, such as "https://spdx.dev/Document".
	Type string
	// Predicate is the claim, a JSON object. If it is an in-toto Statement itself, its type
	// must be Type, and one of its subjects the digest of the package.
	Predicate []byte
}

// Keyless is a certificate authority with the API of Fulcio (Sigstore), and the identity
// that it confirms.
type Keyless struct {
	// URL is the address of the authority.
	URL string
	// Token is the OIDC identity token, whose audience must be "sigstore".
	Token string
}

// Log is a transparency log with the API of Rekor version 1 (Sigstore). What it has is
// public, and cannot be removed: the digest of the signature's document, the signature, and
// the public key or the certificate with the identity.
type Log struct {
	// URL is the address of the log.
	URL string
	// Key is the public key of the log in PEM, with which its proofs are verified. If it is
	// empty, the key is requested from the log.
	Key []byte
}

const defaultJobs = 4

// complete sets the defaults, and the unexported fields that depend on the exported ones.
// It returns an error for Tags that are not in the repository repo.
func (o *Options) complete(repo name.Repository) (err error) {
	for _, t := range o.Tags {
		if t.Context().Name() != repo.Name() {
			return fmt.Errorf("reading the further tag %q: expected a tag of %s", t.Name(), repo.Name())
		}
	}
	o.client = remote.From(o.Transport, o.Keychain)
	if o.Services == nil {
		o.Services = o.client
	}
	o.Jobs = cmp.Or(o.Jobs, defaultJobs)
	o.signer, err = newSigner(*o)
	return err
}
