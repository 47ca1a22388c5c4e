package cache_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/cmd/xfn/cache"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/registry"
)

// An address in use is an error before the directory is created.
func TestAddressTaken(t *testing.T) {
	l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	dir := filepath.Join(t.TempDir(), "registry")
	c := cache.RegistryServeCmd{Dir: dir, Address: l.Addr().String()}
	e2e.ErrorHas(t, "an address in use is an error that has the address", c.Run(t.Context(), &terminal.Terminal{}), c.Address)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was created (%v)", err)
	}
}

// A directory that another registry uses is an error before the address is printed.
func TestDirTaken(t *testing.T) {
	dir := t.TempDir()
	first := e2e.Must(registry.Open(dir))(t)
	defer func() { _ = first.Close() }()
	var out strings.Builder
	c := cache.RegistryServeCmd{Dir: dir, Address: "127.0.0.1:0"}
	e2e.ErrorHas(t, "a directory that another registry uses is an error", c.Run(t.Context(), &terminal.Terminal{Stdout: &out}), "another registry uses the directory")
	if out.Len() > 0 {
		t.Errorf("it printed %q", &out)
	}
}

// An address that other machines can reach is refused without --allow-remote.
func TestBeyondLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		var out strings.Builder
		dir := filepath.Join(t.TempDir(), "registry")
		c := cache.RegistryServeCmd{Dir: dir, Address: address}
		err := c.Run(t.Context(), &terminal.Terminal{Stdout: &out})
		if !errors.As(err, new(*terminal.UsageError)) || !strings.Contains(err.Error(), address) || !strings.Contains(string(hint.Of(err)), "--allow-remote") {
			t.Errorf("%s: got %v (hint: %s), want a usage error", address, err, hint.Of(err))
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) || out.Len() > 0 {
			t.Errorf("%s: it printed %q, and the directory is there (%v)", address, &out, err)
		}
	}
	serve(t, cache.RegistryServeCmd{Address: "0.0.0.0:0", AllowRemote: true})
	serve(t, cache.RegistryServeCmd{Address: "localhost:0"})
}

// With a certificate and users, a push requires TLS and a password. A temporary
// directory is removed when the registry stops.
func TestTLSAndUsers(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	certs, pool := certificates(t)
	users := filepath.Join(t.TempDir(), "users")
	// The password is "secret".
	write(t, users, "alice:$2y$04$ZbSdjicnueeIbNByPZ3FAeaCZhL4AAZe6YvGDRFrLSKkdsh8u279m\n")
	address, stop := serve(t, cache.RegistryServeCmd{Address: "127.0.0.1:0", TLSCertsDir: certs, Htpasswd: users})
	ref := e2e.Must(name.NewTag(address + "/a:v1"))(t)
	img := e2e.Must(random.Image(1<<10, 1))(t)
	trust := remote.WithTransport(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}})
	login := remote.WithAuth(&authn.Basic{Username: "alice", Password: "secret"})
	e2e.Error(t, "a certificate by an unknown authority is accepted", remote.Write(ref, img, login))
	e2e.Error(t, "a push without a password is accepted", remote.Write(ref, img, trust))
	e2e.NoError(t, remote.Write(ref, img, trust, login))
	e2e.NoError(t, validate.Image(e2e.Must(remote.Image(ref, trust, login))(t)))
	stop()
	e2e.Empty(t, temp)
}

// Unusable files are an error before an address is printed or a directory is created.
func TestUnusableFiles(t *testing.T) {
	certs, _ := certificates(t)
	e2e.NoError(t, os.Remove(filepath.Join(certs, "tls.key")))
	ca := functiontest.NewAuthority(t)
	expired := ca.Issue(t, "localhost", -time.Minute, ca)
	users := filepath.Join(t.TempDir(), "users")
	write(t, users, "alice:secret\n")
	cases := map[string]struct {
		reason, file string
		cmd          cache.RegistryServeCmd
	}{
		"NoCerts": {"a missing folder of certificates is an error", "nowhere", cache.RegistryServeCmd{TLSCertsDir: "nowhere"}},
		"NoKey":   {"a certificate without its key is an error", certs, cache.RegistryServeCmd{TLSCertsDir: certs}},
		"Expired": {"a certificate that every client would refuse is an error", expired, cache.RegistryServeCmd{TLSCertsDir: expired}},
		"NoUsers": {"a missing file of users is an error", "nowhere", cache.RegistryServeCmd{Htpasswd: "nowhere"}},
		"NoHash":  {"a password without a hash is an error", users, cache.RegistryServeCmd{Htpasswd: users}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			tc.cmd.Address, tc.cmd.Dir = "127.0.0.1:0", filepath.Join(t.TempDir(), "registry")
			err := tc.cmd.Run(t.Context(), &terminal.Terminal{Stdout: &out})
			if err == nil || !strings.Contains(err.Error(), tc.file) || hint.Of(err) == "" || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: got %v (hint: %s)", tc.reason, err, hint.Of(err))
			}
			if _, err := os.Stat(tc.cmd.Dir); !os.IsNotExist(err) || out.Len() > 0 {
				t.Errorf("%s: it printed %q, and the directory is there (%v)", tc.reason, &out, err)
			}
		})
	}
}

// serve runs c until the test ends or stop is called, and returns its address.
func serve(t *testing.T, c cache.RegistryServeCmd) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := c.Run(ctx, &terminal.Terminal{Stdout: w})
		_ = w.CloseWithError(err)
		ended <- err
	}()
	line := e2e.Must(bufio.NewReader(r).ReadString('\n'))(t)
	stop = sync.OnceFunc(func() {
		cancel()
		e2e.WantError(t, "a stop returned an error", e2e.Receive(t, ended), "")
	})
	t.Cleanup(stop)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("it printed %q", line)
	}
	return address, stop
}

// certificates returns a folder with a certificate for 127.0.0.1 and its key,
// and a pool that trusts it.
func certificates(t *testing.T) (dir string, pool *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key := e2e.Must(x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey))(t)
	dir = t.TempDir()
	write(t, filepath.Join(dir, "tls.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	write(t, filepath.Join(dir, "tls.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	pool = x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return dir, pool
}

func write(t *testing.T, path, content string) {
	t.Helper()
	e2e.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}
