package push

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// A signer signs packages with a key, or with a certificate for an identity, and publishes
// the signatures in a log.
type signer struct {
	key       *signature.PrivateKey // nil for a certificate
	authority signature.Authority
	token     signature.Token
	log       *signature.Log // may be nil
}

// newSigner returns the signer of the options, or nil. It sends no requests.
func newSigner(o Options) (s *signer, err error) {
	if o.SignKey == nil && o.Keyless == nil {
		if len(o.Attestations) > 0 {
			return nil, errors.New("an attestation needs a signature, and no key signs the package")
		}
		if o.Log != nil {
			return nil, errors.New("a transparency log needs a signature, and no key signs the package")
		}
		return nil, nil
	}
	s = &signer{}
	if o.Log != nil {
		if s.log, err = newLog(*o.Log, o.Services); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Keyless == nil:
		if _, ok := o.SignKey.Public().(ed25519.PublicKey); ok && o.Log != nil {
			return nil, errors.New("a transparency log does not accept signatures by Ed25519 keys: expected an ECDSA or RSA key")
		}
		s.key, err = signature.NewPrivateKey(o.SignKey)
		return s, err
	case o.SignKey != nil:
		return nil, errors.New("expected a key or an identity token, got both")
	case o.Log == nil:
		return nil, errors.New("a signature with an identity token needs a transparency log, because its certificate expires after minutes")
	}
	s.authority.Transport = o.Services
	if s.authority.URL, err = parseURL(o.Keyless.URL, false); err != nil {
		return nil, fmt.Errorf("reading the address of the certificate authority %q: %w", o.Keyless.URL, err)
	}
	if s.token, err = signature.ParseToken(o.Keyless.Token); err != nil {
		return nil, fmt.Errorf("reading the identity token: %w", err)
	}
	return s, s.token.CheckTime(time.Now())
}

// newLog returns the client of a log. Plain HTTP needs a local address, or a key of the log.
func newLog(o Log, services http.RoundTripper) (_ *signature.Log, err error) {
	l := &signature.Log{Server: signature.Server{Transport: services}}
	if l.URL, err = parseURL(o.URL, len(o.Key) > 0); err != nil {
		return nil, fmt.Errorf("reading the address of the transparency log %q: %w", o.URL, err)
	}
	if len(o.Key) > 0 {
		if l.Key, err = signature.ParseLogKey(o.Key); err != nil {
			return nil, fmt.Errorf("reading the key of the transparency log %q: %w", o.URL, err)
		}
	}
	return l, nil
}

// parseURL parses the address of a server. Unless plain is true, a server that is not local
// must use HTTPS.
func parseURL(text string, plain bool) (*url.URL, error) {
	u, err := signature.ParseServerURL(text)
	if err == nil && u.Scheme == "http" && !plain && !remote.IsLocal(u.Host) {
		err = errors.New("expected https, because the responses of the server are trusted")
	}
	return u, err
}

// prepare requests the key of the log, if that is not known.
func (s *signer) prepare(ctx context.Context) error {
	if s.log == nil {
		return nil
	}
	return s.log.Trust(ctx)
}

// has reports whether one of all is the claim by the key, and is also in the log. A new certificate
// always needs a new signature. Call prepare before.
func (s *signer) has(all []signature.Signature, c claim) (bool, error) {
	if s.key == nil {
		return false, nil
	}
	verifier, err := s.key.VerifierPEM()
	return err == nil && slices.ContainsFunc(all, func(have signature.Signature) bool {
		var unlogged error
		if s.log != nil {
			_, unlogged = s.log.Key.Verify(have.Bundle, c.entry(have, verifier))
		}
		return unlogged == nil && c.matches(have, s.key.Public())
	}), err
}

// sign returns the signature of a claim, which is in the log if there is one. With an identity token,
// it is by a new key.
func (s *signer) sign(ctx context.Context, c claim) (signed signature.Signature, err error) {
	key := s.key
	if key == nil {
		if key, err = s.authority.Certify(ctx, s.token); err != nil {
			return signed, err
		}
	}
	if signed, err = c.create(key); err != nil || s.log == nil {
		return signed, err
	}
	verifier, err := key.VerifierPEM()
	if err == nil {
		signed.Bundle, err = s.log.Add(ctx, c.entry(signed, verifier))
	}
	return signed, err
}
