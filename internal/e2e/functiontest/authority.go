package functiontest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// An Authority issues certificates for mutual TLS.
type Authority struct {
	// Certificate is the certificate of the authority.
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns an Authority with a new certificate.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	e2e.NoError(t, err)
	if a.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// Issue returns a folder like the one that Crossplane mounts into functions: tls.crt and
// tls.key for a server or client with a name, and ca.crt with the trusted authorities.
func (a *Authority) Issue(t *testing.T, name string, lifetime time.Duration, trusts ...*Authority) string {
	t.Helper()
	return a.IssueFrom(t, name, time.Time{}, lifetime, trusts...)
}

// IssueFrom is Issue for a certificate that is valid from a time.
func (a *Authority) IssueFrom(t *testing.T, name string, start time.Time, lifetime time.Duration, trusts ...*Authority) string {
	t.Helper()
	key := newKey(t)
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: start, NotAfter: time.Now().Add(lifetime), DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.Certificate, &key.PublicKey, a.key)
	e2e.NoError(t, err)
	private := e2e.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	var trusted []byte
	for _, other := range trusts {
		trusted = append(trusted, encode("CERTIFICATE", other.Certificate.Raw)...)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"tls.crt": encode("CERTIFICATE", certificate), "tls.key": encode("PRIVATE KEY", private), "ca.crt": trusted,
	} {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return e2e.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
