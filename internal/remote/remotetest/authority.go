package remotetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// An Authority is a certificate authority. It accepts the tokens that Token returns.
type Authority struct {
	// URL is the address of the server.
	URL string
	// Root is the root certificate in PEM.
	Root []byte
	// Other issues certificates for another key than requested.
	Other bool
	// Change, if not nil, changes each certificate before it is signed.
	Change func(*x509.Certificate)
	// Certificates, if not nil, is the key of a log whose timestamps the certificates have (RFC
	// 6962). ChangeTimestamp, if not nil, changes their list, or leaves it out if it returns nil.
	Certificates    *ecdsa.PrivateKey
	ChangeTimestamp func(list []byte) []byte

	key  *ecdsa.PrivateKey
	root *x509.Certificate
}

// Issuer is the issuer of tokens.
const Issuer = "https://issuer.example.org"

// ServeAuthority starts an authority.
func ServeAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.key, _ = ECDSAKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := e2e.Must(x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key))(t)
	a.root = e2e.Must(x509.ParseCertificate(der))(t)
	a.Root = certificate(der)
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

func certificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Token returns an identity token that is valid for a time.
func (a *Authority) Token(subject string, valid time.Duration) string {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(object{"alg": "ES256"}) + "." + part(object{"iss": Issuer, "sub": subject, "aud": "sigstore", "exp": time.Now().Add(valid).Unix()})
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(a.key, []byte(text)))
}

// ServeHTTP implements http.Handler, with version 2 of the API, and version 1 as far as cosign
// uses it.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := map[string]int{"/api/v1/signingCert": 1, "/api/v2/signingCert": 2}[r.URL.Path]
	if r.Method != http.MethodPost || version == 0 {
		http.NotFound(w, r)
		return
	}
	chain, err := a.certify(r, version)
	switch {
	case err != nil:
		http.Error(w, fmt.Sprintf(`{"code":3,"message":%q}`, err), http.StatusBadRequest)
	case version == 1:
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(strings.Join(chain, "")))
	default:
		_ = json.NewEncoder(w).Encode(object{"signedCertificateEmbeddedSct": object{"chain": object{"certificates": chain}}})
	}
}

// certify returns the certificate for a request, and the certificate of the authority.
func (a *Authority) certify(r *http.Request, version int) ([]string, error) {
	var v1 struct {
		PublicKey          struct{ Content []byte }
		SignedEmailAddress []byte
	}
	var v2 struct {
		Credentials      struct{ OIDCIdentityToken string }
		PublicKeyRequest struct {
			PublicKey         struct{ Content string }
			ProofOfPossession []byte
		}
	}
	request := map[int]any{1: &v1, 2: &v2}[version]
	if err := json.NewDecoder(r.Body).Decode(request); err != nil {
		return nil, err
	}
	token, proof, key := v2.Credentials.OIDCIdentityToken, v2.PublicKeyRequest.ProofOfPossession, []byte(v2.PublicKeyRequest.PublicKey.Content)
	if version == 1 {
		token, proof, key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), v1.SignedEmailAddress, v1.PublicKey.Content
	}
	subject, err := a.subject(token)
	if err != nil {
		return nil, err
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(key)
	if err != nil {
		return nil, err
	}
	if k, ok := public.(*ecdsa.PublicKey); !ok || !ecdsa.VerifyASN1(k, sum([]byte(subject)), proof) {
		return nil, errors.New("the proof of possession is wrong")
	}
	leaf, err := a.issue(public, subject)
	return []string{string(leaf), string(a.Root)}, err
}

func (a *Authority) subject(token string) (string, error) {
	end := strings.LastIndex(token, ".")
	if end < 0 {
		return "", errors.New("expected a token")
	}
	head := token[:end]
	raw, err := base64.RawURLEncoding.DecodeString(token[end+1:])
	if err != nil || !ecdsa.VerifyASN1(&a.key.PublicKey, sum([]byte(head)), raw) {
		return "", errors.New("the token is not by a trusted issuer")
	}
	_, middle, _ := strings.Cut(head, ".")
	var claims struct {
		Sub string
		Exp int64
	}
	text, err := base64.RawURLEncoding.DecodeString(middle)
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err == nil && time.Now().Unix() >= claims.Exp {
		err = errors.New("the token is expired")
	}
	return claims.Sub, err
}

func (a *Authority) issue(key crypto.PublicKey, subject string) ([]byte, error) {
	if a.Other {
		key = a.key.Public()
	}
	u, err := url.Parse(subject)
	if err != nil {
		return nil, err
	}
	issuer, _ := asn1.MarshalWithParams(Issuer, "utf8")
	fulcio := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), URIs: []*url.URL{u},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{{Id: append(fulcio, 1), Value: []byte(Issuer)}, {Id: append(fulcio, 8), Value: issuer}},
	}
	if a.Change != nil {
		a.Change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, key, a.key)
	if err != nil {
		return nil, err
	}
	if a.Certificates == nil {
		return certificate(der), nil
	}
	list, err := a.timestamps(der)
	if err != nil || list == nil {
		return certificate(der), err
	}
	value, _ := asn1.Marshal(list)
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value})
	der, err = x509.CreateCertificate(rand.Reader, template, a.root, key, a.key)
	return certificate(der), err
}

// timestamps returns the list of timestamps for a certificate that has none.
func (a *Authority) timestamps(der []byte) ([]byte, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	public, _ := x509.MarshalPKIXPublicKey(a.Certificates.Public())
	at := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli()))
	length := len(c.RawTBSCertificate)
	signed := append([]byte{0, 0}, at...)
	signed = append(append(signed, 0, 1), sum(a.root.RawSubjectPublicKeyInfo)...)
	signed = append(append(signed, byte(length>>16), byte(length>>8), byte(length)), c.RawTBSCertificate...)
	value := sign(a.Certificates, append(signed, 0, 0))
	const sha256, ecdsa = 4, 3
	sct := append(append([]byte{0}, sum(public)...), at...)
	sct = append(sct, 0, 0, sha256, ecdsa)
	sct = append(binary.BigEndian.AppendUint16(sct, uint16(len(value))), value...)
	list := append(binary.BigEndian.AppendUint16(nil, uint16(len(sct))), sct...)
	list = append(binary.BigEndian.AppendUint16(nil, uint16(len(list))), list...)
	if a.ChangeTimestamp != nil {
		list = a.ChangeTimestamp(list)
	}
	return list, nil
}
