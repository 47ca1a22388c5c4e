package signature

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// An Authority is a Fulcio server.
type Authority struct{ Server }

// certificateRequest is the body of POST /api/v2/signingCert.
type certificateRequest struct {
	Credentials struct {
		Token string `json:"oidcIdentityToken"`
	} `json:"credentials"`
	PublicKeyRequest struct {
		PublicKey struct {
			Algorithm string `json:"algorithm"`
			Content   string `json:"content"`
		} `json:"publicKey"`
		// Proof is the signature of the token's subject by the key.
		Proof []byte `json:"proofOfPossession"`
	} `json:"publicKeyRequest"`
}

// certificateResponse is the response to a certificateRequest. A server that publishes in a
// certificate log fills Embedded; other servers fill Detached.
type certificateResponse struct {
	Embedded *issued `json:"signedCertificateEmbeddedSct"`
	Detached *issued `json:"signedCertificateDetachedSct"`
}

type issued struct {
	Chain struct {
		Certificates []string `json:"certificates"`
	} `json:"chain"`
}

// Certify generates a key and returns it with a certificate for the token's identity.
//
// An error is one sentence that names the server, and contains no part of the token.
func (a Authority) Certify(ctx context.Context, t Token) (*PrivateKey, error) {
	key, err := a.certify(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("getting a certificate for %q from %q: %w", t.Subject, a.URL, withoutSecret(err, t.Raw))
	}
	return key, nil
}

// withoutSecret returns err without the text from a secret on, which a server may have
// repeated. The text of a server is cut, so only the beginning of the secret is looked for.
func withoutSecret(err error, secret string) error {
	const begin = 16
	if before, _, found := strings.Cut(err.Error(), secret[:min(begin, len(secret))]); found {
		return errors.New(before + "…")
	}
	return err
}

func (a Authority) certify(ctx context.Context, t Token) (*PrivateKey, error) {
	key, err := Generate()
	if err != nil {
		return nil, err
	}
	public, err := key.Public().PEM()
	if err != nil {
		return nil, err
	}
	var r certificateRequest
	r.Credentials.Token = t.Raw
	r.PublicKeyRequest.PublicKey.Algorithm, r.PublicKeyRequest.PublicKey.Content = "ECDSA", string(public)
	if r.PublicKeyRequest.Proof, err = key.SignText([]byte(t.Subject)); err != nil {
		return nil, fmt.Errorf("signing the subject: %w", err)
	}
	resp, err := a.Post(ctx, "api/v2/signingCert", r, http.StatusOK, http.StatusCreated)
	if err != nil {
		return nil, err
	}
	var got certificateResponse
	if err := json.Unmarshal(resp.Body, &got); err != nil {
		return nil, errors.New("the response is not valid JSON")
	}
	made := cmp.Or(got.Embedded, got.Detached)
	if made == nil {
		return nil, errors.New("the response has no certificate")
	}
	return certified(key, public, made.Chain.Certificates)
}

// certified returns key with its certificate, the first of chain.
func certified(key *PrivateKey, public []byte, chain []string) (*PrivateKey, error) {
	var all [][]byte
	for i, text := range chain {
		block, rest := pem.Decode([]byte(text))
		if block == nil || len(bytes.TrimSpace(rest)) > 0 {
			return nil, errors.New("the response has a certificate that is not in PEM")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("the response has an invalid certificate")
		}
		if want, _ := pem.Decode(public); i == 0 && !bytes.Equal(c.RawSubjectPublicKeyInfo, want.Bytes) {
			return nil, errors.New("the certificate is for another key")
		}
		all = append(all, pem.EncodeToMemory(block))
	}
	if len(all) == 0 {
		return nil, errors.New("the response has no certificate")
	}
	return key.Certified(all[0], bytes.Join(all[1:], nil)), nil
}
