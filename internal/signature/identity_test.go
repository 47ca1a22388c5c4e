package signature_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

const subject = "https://ci.example.org/acme/conf/release.yml"

// A keyless makes signatures with certificates of an authority, which are in a log.
type keyless struct {
	authority *remotetest.Authority
	log       *remotetest.Log
	client    *signature.Log
}

func newKeyless(t *testing.T) keyless {
	t.Helper()
	log := remotetest.ServeLog(t)
	return keyless{remotetest.ServeAuthority(t), log, logOf(t, log, log.PEM)}
}

// certified returns a key with a certificate for subject.
func (k keyless) certified(t *testing.T) *signature.PrivateKey {
	t.Helper()
	u := e2e.Must(signature.ParseServerURL(k.authority.URL))(t)
	token := e2e.Must(signature.ParseToken(k.authority.Token(subject, time.Hour)))(t)
	return e2e.Must(signature.Authority{Server: signature.Server{URL: u}}.Certify(t.Context(), token))(t)
}

// sign returns a signature of digest, and an attestation about it.
func (k keyless) sign(t *testing.T) (signed, attested signature.Signature) {
	t.Helper()
	key := k.certified(t)
	signed = e2e.Must(key.Sign(repo(t), digest))(t)
	signed.Bundle = e2e.Must(k.client.Add(t.Context(), signature.HashedEntry(signed.Payload, signed.Value, signed.Certificate)))(t)
	attested = e2e.Must(key.Attest(e2e.Must(signature.Statement("conf", digest, "https://example.org/x", []byte("{}")))(t)))(t)
	attested.Bundle = e2e.Must(k.client.Add(t.Context(), signature.EnvelopeEntry(attested.Payload, attested.Certificate)))(t)
	return signed, attested
}

// An Identity accepts signatures with a certificate that was valid when the log added them.
func TestIdentity(t *testing.T) {
	other, otherSubject := newKeyless(t), "https://ci.example.org/acme/other.yml"
	theirs, _ := other.sign(t)
	type identity struct {
		subject, issuer string
		roots           []byte
		log             *signature.LogKey
	}
	older := func(c *x509.Certificate) {
		c.ExtraExtensions = c.ExtraExtensions[:1]
	}
	cases := map[string]struct {
		reason string
		issue  func(*x509.Certificate)
		change func(s *signature.Signature, id *identity)
		want   string
	}{
		"Valid":   {"a valid signature is accepted", nil, nil, ""},
		"Older":   {"the issuer may be in the older extension only", older, nil, ""},
		"Pattern": {"the identity may be an expression", nil, func(_ *signature.Signature, id *identity) { id.subject = `https://ci\.example\.org/acme/.*` }, ""},
		"Part":    {"an expression must match the whole identity", nil, func(_ *signature.Signature, id *identity) { id.subject = "acme" }, `is for the identity ["` + subject + `"], which "` + remotetest.Issuer + `" confirmed`},
		"Subject": {"a certificate for another identity is refused", nil, func(_ *signature.Signature, id *identity) { id.subject = otherSubject }, "is for the identity"},
		"Issuer":  {"an identity that another issuer confirmed is refused", nil, func(_ *signature.Signature, id *identity) { id.issuer = "https://evil.example.org" }, "is for the identity"},
		"TwoIssuers": {"the newer extension has priority over the older one", func(c *x509.Certificate) {
			text, _ := asn1.MarshalWithParams("https://evil.example.org", "utf8")
			c.ExtraExtensions[1] = pkix.Extension{Id: c.ExtraExtensions[1].Id, Value: text}
		}, nil, `which "https://evil.example.org" confirmed`},
		"Root":      {"a certificate of another authority is refused", nil, func(_ *signature.Signature, id *identity) { id.roots = other.authority.Root }, "certificate signed by unknown authority"},
		"Early":     {"a signature before the certificate was valid is refused", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, nil, "not valid when the log added the signature"},
		"Late":      {"a signature after the certificate expired is refused", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, nil, "not valid when the log added the signature"},
		"Extended":  {"a certificate that is not for code signing is refused", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, nil, "incompatible key usage"},
		"Usage":     {"a certificate that is not for digital signatures is refused", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }, nil, "not for digital signatures"},
		"Log":       {"the log must be the trusted one", nil, func(_ *signature.Signature, id *identity) { id.log = other.client.Key }, "verifying the proof of the transparency log: the entry is of the log"},
		"NoLog":     {"a signature without a proof of a log is refused", nil, func(s *signature.Signature, _ *identity) { s.Bundle = nil }, "has no proof of a transparency log"},
		"OtherLog":  {"a proof of another signature is refused", nil, func(s *signature.Signature, id *identity) { s.Bundle, id.log = theirs.Bundle, other.client.Key }, "the entry is about another signature"},
		"Value":     {"a changed signature is refused", nil, func(s *signature.Signature, _ *identity) { s.Value = theirs.Value }, "not by the key of its certificate, or was changed"},
		"Exchanged": {"the certificate of another key is refused", nil, func(s *signature.Signature, _ *identity) { s.Certificate = theirs.Certificate }, "not by the key of its certificate, or was changed"},
		"PEM":       {"a certificate must be in PEM", nil, func(s *signature.Signature, _ *identity) { s.Certificate = []byte("x") }, "not in PEM"},
		"None":      {"a signature without a certificate is by another signer", nil, func(s *signature.Signature, _ *identity) { s.Certificate = nil }, "has 1 signature, but none by the identity"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyless(t)
			k.authority.Change = tc.issue
			signed, attested := k.sign(t)
			id := identity{regexp.QuoteMeta(subject), remotetest.Issuer, k.authority.Root, k.client.Key}
			if tc.change != nil {
				tc.change(&signed, &id)
			}
			v := e2e.Must(signature.NewIdentity(regexp.MustCompile(id.subject), id.issuer, id.roots, id.log, nil))(t)
			by, err := signature.Check([]signature.Signature{signed}, digest, v)
			if tc.want != "" {
				checkError(t, tc.reason, err, tc.want, "")
				return
			}
			if err != nil || by[0] != 1 {
				t.Errorf("%s: got %v, error %v", tc.reason, by, err)
			}
			for hash, want := range map[v1.Hash]int{digest: 1, {Algorithm: "sha256", Hex: strings.Repeat("0", 64)}: 0} {
				if got := signature.Attested([]signature.Signature{attested}, hash, v)["https://example.org/x"]; len(got) != want {
					t.Errorf("%s: there are %d attestations about %s, want %d", tc.reason, len(got), hash, want)
				}
			}
		})
	}
}
