package grpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// minVersion is the minimum TLS version. Functions that are built with
// Crossplane's SDK have the same minimum.
const minVersion = tls.VersionTLS12

// Certificates are the TLS configuration of a client or a server: its certificate and
// key, and the authorities that verify the certificate of the other side.
type Certificates struct {
	// own is nil for a client without a certificate.
	own         *tls.Certificate
	authorities *x509.CertPool
}

// LoadCertificates reads the PEM files tls.crt, tls.key and ca.crt from a folder, the
// files that Crossplane mounts into functions. Errors name the file.
func LoadCertificates(dir string) (*Certificates, error) {
	crt, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certificate, err := readFile(crt)
	if err != nil {
		return nil, err
	}
	private, err := readFile(key)
	if err != nil {
		return nil, err
	}
	own, err := tls.X509KeyPair(certificate, private)
	if err != nil {
		return nil, fmt.Errorf("reading %q and %q: %w", crt, key, err)
	}
	authorities, err := loadAuthorities(dir)
	if err != nil {
		return nil, err
	}
	return &Certificates{own: &own, authorities: authorities}, nil
}

// LoadClientCertificates is LoadCertificates for a client. If the folder has neither
// tls.crt nor tls.key, the client presents no certificate.
func LoadClientCertificates(dir string) (*Certificates, error) {
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return LoadCertificates(dir)
		}
	}
	authorities, err := loadAuthorities(dir)
	if err != nil {
		return nil, err
	}
	return &Certificates{authorities: authorities}, nil
}

func loadAuthorities(dir string) (*x509.CertPool, error) {
	path := filepath.Join(dir, "ca.crt")
	pem, err := readFile(path)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading %q: it contains no certificate in PEM form", path)
	}
	return authorities, nil
}

func readFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	}
	return text, nil
}

// server returns credentials that require a certificate of every client. If c is nil, the
// credentials are plaintext.
func (c *Certificates) server() credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion:   minVersion,
		Certificates: []tls.Certificate{*c.own},
		ClientCAs:    c.authorities,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	})
}

// client returns credentials that present the client certificate even if the server
// requests a certificate of other authorities, so that the server reports why it rejects
// the certificate. If c is nil, the credentials are plaintext.
func (c *Certificates) client(serverName string) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	config := &tls.Config{MinVersion: minVersion, RootCAs: c.authorities, ServerName: serverName}
	if c.own != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.own, nil }
	}
	return credentials.NewTLS(config)
}
