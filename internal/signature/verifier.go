package signature

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// A Verifier verifies signatures: a *PublicKey or an *Identity.
type Verifier interface {
	// verify returns an error unless value is the signature of text by the verifier. s has
	// the certificate of the signature and the proof of a log. entry returns what the log
	// must have recorded for the public key or the certificate key, in PEM. The error
	// errStranger means that another signer may have made the signature.
	verify(text, value []byte, s Signature, entry func(key []byte) LogEntry) error
	// String describes the verifier in errors.
	String() string
}

var errStranger = errors.New("another key made the signature")

// An Identity verifies signatures by keys for which a certificate authority confirmed an
// identity (Fulcio of Sigstore). The certificates expire after minutes. So a transparency
// log must prove that the signature was made before.
type Identity struct {
	// subject must match an email address or a URI in the certificate.
	subject *regexp.Regexp
	// issuer is the URL of the OIDC issuer that confirmed the identity.
	issuer string
	// roots are the trusted authorities. intermediates may be in chains to them.
	roots, intermediates *x509.CertPool
	log                  *LogKey
	// certificates is the log that must have each certificate, or nil.
	certificates *LogKey
}

// NewIdentity returns the Identity with this issuer whose whole subject matches. authorities are
// the trusted certificates in PEM: self-signed certificates are roots, the others intermediates.
// log is the key of the transparency log. certificates, if not nil, is the key of a certificate
// transparency log, and each certificate must have a timestamp of this log.
func NewIdentity(subject *regexp.Regexp, issuer string, authorities []byte, log, certificates *LogKey) (*Identity, error) {
	whole, err := regexp.Compile(`^(?:` + subject.String() + `)$`)
	if err != nil {
		return nil, fmt.Errorf("reading the pattern of the identity: %w", err)
	}
	i := &Identity{whole, issuer, x509.NewCertPool(), x509.NewCertPool(), log, certificates}
	found := false
	for {
		var block *pem.Block
		if block, authorities = pem.Decode(authorities); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the PEM block %q is not a valid certificate", block.Type)
		}
		if c.CheckSignatureFrom(c) != nil {
			i.intermediates.AddCert(c)
			continue
		}
		i.roots.AddCert(c)
		found = true
	}
	if !found {
		return nil, errors.New("expected root certificates in PEM")
	}
	return i, nil
}

func isIdentity(v Verifier) bool {
	_, ok := v.(*Identity)
	return ok
}

// String implements Verifier.
func (i *Identity) String() string { return "the identity" }

// verify implements Verifier.
func (i *Identity) verify(text, value []byte, s Signature, entry func([]byte) LogEntry) error {
	if len(s.Certificate) == 0 {
		return errStranger
	}
	block, _ := pem.Decode(s.Certificate)
	if block == nil {
		return errors.New("the certificate of a signature is not in PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return errors.New("the certificate of a signature is invalid")
	}
	key, err := publicKey(c.PublicKey)
	if err != nil {
		return fmt.Errorf("the certificate of a signature: %w", err)
	}
	if key.verify(text, value, s, entry) != nil {
		return errors.New("a signature is not by the key of its certificate, or was changed")
	}
	if len(s.Bundle) == 0 {
		return errors.New("a signature with a certificate has no proof of a transparency log")
	}
	at, err := i.log.Verify(s.Bundle, entry(s.Certificate))
	if err != nil {
		return fmt.Errorf("verifying the proof of the transparency log: %w", err)
	}
	options := x509.VerifyOptions{Roots: i.roots, Intermediates: i.chain(s.Chain), CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}}
	switch chains, err := c.Verify(options); {
	case err != nil:
		return fmt.Errorf("the certificate of a signature was not valid when the log added the signature: %w", err)
	case c.IsCA, c.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("the certificate of a signature is not for digital signatures")
	case i.certificates != nil:
		if err := verifyLogged(c, chains[0][min(1, len(chains[0])-1)], i.certificates); err != nil {
			return err
		}
	}
	return i.match(c)
}

// chain returns the intermediates with the certificates that came with a signature, which
// need not be trusted.
func (i *Identity) chain(more []byte) *x509.CertPool {
	if len(more) == 0 {
		return i.intermediates
	}
	pool := i.intermediates.Clone()
	pool.AppendCertsFromPEM(more) // A certificate that cannot be parsed is not used.
	return pool
}

// match returns an error unless c is for the identity.
func (i *Identity) match(c *x509.Certificate) error {
	subjects := slices.Clone(c.EmailAddresses)
	for _, u := range c.URIs {
		subjects = append(subjects, u.String())
	}
	if issuer := issuerOf(c); issuer != i.issuer || !slices.ContainsFunc(subjects, i.subject.MatchString) {
		return fmt.Errorf("the certificate of a signature is for the identity %q, which %q confirmed", subjects, issuer)
	}
	return nil
}

// issuerOf returns the OIDC issuer in a certificate (sigstore/fulcio, docs/oid-info.md): a
// UTF8String, or the text itself in the older extension.
func issuerOf(c *x509.Certificate) string {
	sigstore := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
	older := ""
	for _, e := range c.Extensions {
		switch {
		case e.Id.Equal(append(slices.Clone(sigstore), 8)):
			var text string
			if rest, err := asn1.UnmarshalWithParams(e.Value, &text, "utf8"); err != nil || len(rest) > 0 {
				return ""
			}
			return text
		case e.Id.Equal(append(slices.Clone(sigstore), 1)):
			older = string(e.Value)
		}
	}
	return older
}
