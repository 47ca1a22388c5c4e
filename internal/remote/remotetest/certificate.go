package remotetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Certificate is for "127.0.0.1" and "localhost", and signed by itself.
type Certificate struct {
	// File and Key are paths of PEM files for a server.
	File, Key string
	// CA is the path of the same certificate, alone in its folder.
	CA string
}

// NewCertificate creates a Certificate that is removed after the test.
func NewCertificate(t testing.TB) *Certificate {
	t.Helper()
	dir := t.TempDir()
	c := &Certificate{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(t.TempDir(), "ca.crt")}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, kind string, der []byte) error {
		return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	if err := errors.Join(write(c.CA, "CERTIFICATE", cert), write(c.File, "CERTIFICATE", cert), write(c.Key, "PRIVATE KEY", private)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Serve is ServeTLS with this certificate.
func (c *Certificate) Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.File, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, h, func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
	})
}
