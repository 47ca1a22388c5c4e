package grpc_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func load(t *testing.T, dir string) *grpc.Certificates {
	t.Helper()
	if dir == "" {
		return nil
	}
	return e2e.Must(grpc.LoadCertificates(dir))(t)
}

func TestMutualTLS(t *testing.T) {
	ca, other := functiontest.NewAuthority(t), functiontest.NewAuthority(t)
	server := ca.Issue(t, "localhost", time.Hour, ca)
	client := ca.Issue(t, "client", time.Hour, ca)
	// untrusted is the error if a server refuses a client and closes the connection
	// before the client has received the server's TLS alert.
	const untrusted = "nothing answered in gRPC after the TLS handshake: it may not trust the client's certificate"
	cases := map[string]struct{ reason, server, client, name, want string }{
		"Trusted":       {"client and server trust each other's authority", server, client, "localhost", ""},
		"Authorities":   {"client and server may have different authorities", server, ca.Issue(t, "client", time.Hour, other, ca), "localhost", ""},
		"WrongClient":   {"the reason of a server that refuses a client is reported", server, other.Issue(t, "client", time.Hour, ca), "localhost", "remote error: tls: unknown certificate authority"},
		"WrongServer":   {"a server of another authority is refused", server, ca.Issue(t, "client", time.Hour, other), "localhost", "x509: certificate signed by unknown authority"},
		"ExpiredClient": {"a client's certificate that has expired is refused", server, ca.Issue(t, "client", -time.Minute, ca), "localhost", "remote error: tls: expired certificate"},
		"ExpiredServer": {"an expired server certificate is refused", ca.Issue(t, "localhost", -time.Minute, ca), client, "localhost", "certificate has expired or is not yet valid"},
		"Name":          {"the certificate must be for the host of the target", server, client, "", "cannot validate certificate for 127.0.0.1"},
		"OtherName":     {"the certificate must be for the configured server name", server, client, "elsewhere", "certificate is valid for localhost, not elsewhere"},
		"PlainClient":   {"a plaintext client of a TLS server gets no response", server, "", "", grpc.ErrSilent.Error()},
		"PlainServer":   {"a TLS client of a plaintext server gets an error", "", client, "localhost", "it does not speak TLS, which was expected"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			addr := serveWith(t, listen(t, "tcp", "127.0.0.1:0"), echo, grpc.ServeOptions{Certificates: load(t, tc.server)})
			c := dial(t, addr, grpc.Options{Certificates: load(t, tc.client), ServerName: tc.name})
			err := c.Connect(t.Context())
			if tc.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), `connecting to "`+addr+`": `) || !strings.Contains(err.Error(), tc.want) && !(strings.HasPrefix(tc.want, "remote error") && strings.HasSuffix(err.Error(), untrusted)) {
					t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
				}
				e2e.Error(t, tc.reason+": the call was answered", e2e.Err(c.RunFunction(t.Context(), "f", ask("hi"))))
				return
			}
			e2e.NoError(t, err)
			rsp := e2e.Must(c.RunFunction(t.Context(), "f", ask("hi")))(t)
			e2e.Equal(t, tc.reason, "served hi", rsp.GetMeta().GetTag())
		})
	}
}

func TestMutualTLSOnSocket(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	path := serveWith(t, listen(t, "unix", socket(t)), echo, grpc.ServeOptions{Certificates: load(t, ca.Issue(t, "localhost", time.Hour, ca))})
	c := dial(t, "unix://"+path, grpc.Options{Certificates: load(t, ca.Issue(t, "client", time.Hour, ca))})
	e2e.Equal(t, "a client with a certificate can call through a socket", "served hi", e2e.Must(c.RunFunction(t.Context(), "f", ask("hi")))(t).GetMeta().GetTag())
}

// Serve also verifies the certificates of clients that are not this package's Client.
func TestMutualTLSOfOtherClients(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	addr := serveWith(t, listen(t, "tcp", "127.0.0.1:0"), echo, grpc.ServeOptions{Certificates: load(t, ca.Issue(t, "localhost", time.Hour, ca))})
	dir := ca.Issue(t, "client", time.Hour, ca)
	own := e2e.Must(tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")))(t)
	authorities := x509.NewCertPool()
	authorities.AddCert(ca.Certificate)
	cases := map[string]struct {
		reason string
		config *tls.Config
		want   codes.Code
	}{
		"Certificate": {"a client with a certificate can call v1beta1", &tls.Config{Certificates: []tls.Certificate{own}}, codes.OK},
		"TLS12":       {"a client with TLS 1.2 is accepted", &tls.Config{Certificates: []tls.Certificate{own}, MaxVersion: tls.VersionTLS12}, codes.OK},
		"None":        {"a client without a certificate is refused", &tls.Config{}, codes.Unavailable},
		"None12":      {"a TLS 1.2 client without a certificate is refused", &tls.Config{MaxVersion: tls.VersionTLS12}, codes.Unavailable},
		"TLS11":       {"a client with TLS 1.1 is refused", &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11}, codes.Unavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.config.RootCAs, tc.config.ServerName = authorities, "localhost"
			conn := e2e.Must(gogrpc.NewClient(addr, gogrpc.WithTransportCredentials(credentials.NewTLS(tc.config))))(t)
			defer conn.Close()
			rsp, err := fnv1beta1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), &fnv1beta1.RunFunctionRequest{Meta: &fnv1beta1.RequestMeta{Tag: "hi"}})
			if status.Code(err) != tc.want || tc.want == codes.OK && rsp.GetMeta().GetTag() != "served hi" {
				t.Errorf("%s: got %v, %v, want %v", tc.reason, rsp, err, tc.want)
			}
		})
	}
}

func TestLoadCertificates(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	cases := map[string]struct {
		reason string
		spoil  func(dir string) error
		want   []string
	}{
		"NoCertificate": {"the error names a missing certificate", func(dir string) error { return os.Remove(filepath.Join(dir, "tls.crt")) }, []string{`tls.crt": no such file`}},
		"NoKey":         {"the error names a missing key", func(dir string) error { return os.Remove(filepath.Join(dir, "tls.key")) }, []string{`tls.key": no such file`}},
		"NoAuthority":   {"the error names a missing file of authorities", func(dir string) error { return os.Remove(filepath.Join(dir, "ca.crt")) }, []string{`ca.crt": no such file`}},
		"BadKey":        {"an invalid key is refused", func(dir string) error { return os.WriteFile(filepath.Join(dir, "tls.key"), []byte("secret"), 0o600) }, []string{"tls.crt", "tls.key"}},
		"BadAuthority":  {"an invalid file of authorities is refused", func(dir string) error { return os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("trust me"), 0o600) }, []string{`ca.crt": it contains no certificate`}},
		"OtherKey": {"a key of another certificate is refused", func(dir string) error {
			return os.Rename(filepath.Join(ca.Issue(t, "x", time.Hour), "tls.key"), filepath.Join(dir, "tls.key"))
		}, []string{"tls.key", "private key does not match public key"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := ca.Issue(t, "a", time.Hour, ca)
			e2e.NoError(t, tc.spoil(dir))
			_, err := grpc.LoadCertificates(dir)
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			for _, want := range tc.want {
				e2e.ErrorHas(t, tc.reason, err, want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
}
