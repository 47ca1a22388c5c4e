package remotetest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A Distribution is Docker's registry in a separate process. The zero value requires no
// credentials and uses plain HTTP.
type Distribution struct {
	// Dir is the directory that stores the content. Several Distributions may share it. Empty
	// means a temporary directory.
	Dir string
	// User and Password are the only valid credentials. Empty means that none are required.
	User, Password string
	// Certificate, if not nil, enables TLS.
	Certificate *Certificate
	// ReadOnly makes the registry refuse all writes. Deletes makes it allow deletions.
	ReadOnly, Deletes bool
}

// Registry starts an empty Distribution and returns its address, HOST:PORT.
func Registry(t testing.TB) string {
	t.Helper()
	return Distribution{}.Start(t)
}

// HasRegistry reports whether this machine has the program that Registry starts.
func HasRegistry() bool { return registryProgram() != "" }

// registryProgram returns the path of the registry's program, or "".
func registryProgram() string {
	if program := os.Getenv("XFN_TEST_DOCKER_REGISTRY"); program != "" {
		return program
	}
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		return ""
	}
	return program
}

// Start starts the registry at a free port of this machine and returns HOST:PORT. The
// registry stops when the test ends. The program is the path in XFN_TEST_DOCKER_REGISTRY
// or, if that is empty, docker-registry on PATH, as Debian calls it. If there is no
// program, the test is skipped, or fails if the comma-separated list XFN_REQUIRE contains
// "registry".
func (d Distribution) Start(t testing.TB) string {
	t.Helper()
	program := registryProgram()
	if program == "" {
		e2e.Missing(t, "registry", "XFN_TEST_DOCKER_REGISTRY names no program, and there is no docker-registry")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	e2e.NoError(t, os.WriteFile(config, []byte(d.config(t, dir)), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "serve", config)
	// Docker's registry would read REGISTRY_AUTH_FILE, which podman defines, as a part of its
	// own configuration.
	cmd.Env = []string{}
	log := e2e.Must(cmd.StderrPipe())(t)
	e2e.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := listening(log)
	if err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return address
}

// config returns the registry's configuration in YAML. It creates the files that the
// configuration names in dir.
func (d Distribution) config(t testing.TB, dir string) string {
	t.Helper()
	if d.Dir == "" {
		d.Dir = filepath.Join(dir, "blobs")
	}
	text := fmt.Sprintf(`version: 0.1
log: {level: info, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  delete: {enabled: %t}
  maintenance: {readonly: {enabled: %t}}
http:
  addr: "127.0.0.1:0"
`, d.Dir, d.Deletes, d.ReadOnly)
	if d.Certificate != nil {
		text += fmt.Sprintf("  tls: {certificate: %q, key: %q}\n", d.Certificate.File, d.Certificate.Key)
	}
	if d.User != "" {
		users := filepath.Join(dir, "users")
		hash := e2e.Must(bcrypt.GenerateFromPassword([]byte(d.Password), bcrypt.MinCost))(t)
		e2e.WriteFile(t, users, fmt.Sprintf("%s:%s\n", d.User, hash))
		text += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %q}}\n", users)
	}
	return text
}

var listeningOn = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// listening reads the registry's log until a line contains the registry's address, and
// returns the address.
func listening(log io.Reader) (address string, err error) {
	var text strings.Builder
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if found := listeningOn.FindStringSubmatch(lines.Text()); found != nil {
			return found[1], nil
		}
		fmt.Fprintln(&text, lines.Text())
	}
	return "", errors.Join(errors.New(text.String()), lines.Err())
}

// A Certificate is a self-signed certificate for "127.0.0.1" and "localhost".
type Certificate struct {
	// File and Key are paths of PEM files for a server.
	File, Key string
	// CA is the path of a copy of the certificate, in a folder that contains no other file.
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
	key := e2e.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	cert := e2e.Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	private := e2e.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	write := func(path, kind string, der []byte) {
		e2e.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	write(c.CA, "CERTIFICATE", cert)
	write(c.File, "CERTIFICATE", cert)
	write(c.Key, "PRIVATE KEY", private)
	return c
}

// Serve serves h over TLS with the certificate c until the test ends, and returns
// HOST:PORT.
func (c *Certificate) Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	pair := e2e.Must(tls.LoadX509KeyPair(c.File, c.Key))(t)
	return serve(t, h, func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
	})
}
