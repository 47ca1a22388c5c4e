package grpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc/credentials"

	"github.com/xfn-dev/xfn/internal/ioerror"
)

// minVersion is what functions built with Crossplane's SDK ask for. Two sides
// that can do better do.
const minVersion = tls.VersionTLS12

// Certificates are what one side of mutual TLS has: its own certificate and key,
// and the authorities of which the other side's certificate has to be.
type Certificates struct {
	own         tls.Certificate
	authorities *x509.CertPool
}

// LoadCertificates reads tls.crt, tls.key and ca.crt from a folder, PEM files as
// Crossplane mounts them into functions. Its errors name the file.
func LoadCertificates(dir string) (*Certificates, error) {
	paths := [3]string{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
	var pem [3][]byte
	for i, path := range paths {
		var err error
		if pem[i], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading %q: %w", path, ioerror.Cause(err))
		}
	}
	own, err := tls.X509KeyPair(pem[0], pem[1])
	if err != nil {
		return nil, fmt.Errorf("reading %q and %q: %w", paths[0], paths[1], err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem[2]) {
		return nil, fmt.Errorf("reading %q: it holds no certificate in PEM form", paths[2])
	}
	return &Certificates{own: own, authorities: authorities}, nil
}

// server asks every client for a certificate.
func (c *Certificates) server() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion:   minVersion,
		Certificates: []tls.Certificate{c.own},
		ClientCAs:    c.authorities,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	})
}

// client shows its certificate also to a server that knows other authorities,
// which then says so.
func (c *Certificates) client(serverName string) credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion: minVersion,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &c.own, nil
		},
		RootCAs:    c.authorities,
		ServerName: serverName,
	})
}
