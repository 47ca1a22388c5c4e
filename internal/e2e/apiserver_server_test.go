package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// An apiServer is a running API server. Its storage is empty at the start. No controllers run:
// nothing creates Pods or collects garbage.
type apiServer struct {
	url    string
	client *http.Client
}

// apiToken is the bearer token of the only user. The server listens on a loopback address.
const apiToken = "test"

// startAPIServer starts etcd and kube-apiserver. They stop when the test ends. The programs are the
// paths in XFN_TEST_ETCD and XFN_TEST_APISERVER or, if those are empty, etcd and
// kube-apiserver on PATH. If there is no program, the test is skipped, or fails if the
// comma-separated list XFN_REQUIRE contains "apiserver".
func startAPIServer(t testing.TB) *apiServer {
	t.Helper()
	etcd, apiserver := serverProgram(t, "XFN_TEST_ETCD", "etcd"), serverProgram(t, "XFN_TEST_APISERVER", "kube-apiserver")
	dir, cert, port := t.TempDir(), remotetest.NewCertificate(t), freePort(t)
	users := filepath.Join(dir, "users.csv")
	e2e.WriteFile(t, users, apiToken+",test,test,system:masters\n")
	// etcd 3.4 demands an address with a port, and creates a Unix socket of that name in its
	// working directory, which kube-apiserver shares.
	const storage, peers = "unix://127.0.0.1:1", "unix://127.0.0.1:2"
	running := []*process{
		startProcess(t, dir, etcd, "--data-dir=etcd", "--listen-client-urls="+storage, "--advertise-client-urls="+storage, "--listen-peer-urls="+peers),
		startProcess(
			t, dir, apiserver, "--etcd-servers="+storage, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+port,
			"--tls-cert-file="+cert.File, "--tls-private-key-file="+cert.Key, "--token-auth-file="+users, "--authorization-mode=AlwaysAllow",
			"--service-account-issuer=https://localhost", "--service-account-key-file="+cert.File, "--service-account-signing-key-file="+cert.Key,
			"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		),
	}
	s := &apiServer{url: "https://127.0.0.1:" + port, client: newServerClient(t, cert)}
	s.await(t, running)
	return s
}

// serverProgram returns the path of a program.
func serverProgram(t testing.TB, variable, name string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path, _ = exec.LookPath(name)
	}
	if path == "" {
		e2e.Missing(t, "apiserver", "%s names no program, and there is no %s", variable, name)
	}
	return path
}

// freePort returns a TCP port of 127.0.0.1 that no process uses.
func freePort(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	e2e.NoError(t, err)
	return port
}

// newServerClient returns a client that trusts the certificate.
func newServerClient(t testing.TB, cert *remotetest.Certificate) *http.Client {
	t.Helper()
	pem := []byte(e2e.ReadFile(t, cert.CA))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("%s has no certificate", cert.CA)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A process is a program that runs until the test ends.
type process struct {
	name, log string
	// done is closed when the program has ended.
	done chan struct{}
}

// startProcess starts a program with the working directory dir.
func startProcess(t testing.TB, dir, path string, args ...string) *process {
	t.Helper()
	name := filepath.Base(path)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log := e2e.Must(os.Create(p.log))(t)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	e2e.NoError(t, errors.Join(cmd.Start(), log.Close()))
	go func() { defer close(p.done); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-p.done })
	return p
}

// ended reports whether the program has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// String returns the name of the program and the end of its log.
func (p *process) String() string {
	log, err := os.ReadFile(p.log)
	const limit = 4000
	return fmt.Sprintf("%s (%v):\n%s", p.name, err, log[max(0, len(log)-limit):])
}

// await waits until the server is ready. It fails the test if a process ends.
func (s *apiServer) await(t testing.TB, running []*process) {
	t.Helper()
	ready := false
	defer func() {
		if !ready {
			t.Logf("the API server does not start:\n%v", running)
		}
	}()
	e2e.Until(t, func() bool {
		if slices.ContainsFunc(running, (*process).ended) {
			t.Fatal("a process has ended")
		}
		r, err := s.request(t.Context(), http.MethodGet, "/readyz", "", nil)
		ready = err == nil && r.Code == http.StatusOK
		return ready
	})
}
