package remotetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// A Distribution is Docker's registry in a process of its own. The zero value requires no
// credentials and uses plain HTTP.
type Distribution struct {
	// Dir stores the content, and may be shared. Default: a temporary directory.
	Dir string
	// User is the only user, with Password. Default: no credentials are required.
	User, Password string
	// Certificate enables TLS.
	Certificate *Certificate
	// ReadOnly refuses all writes, and Deletes enables deletion.
	ReadOnly, Deletes bool
}

// Registry starts an empty Distribution and returns its address, HOST:PORT.
func Registry(t testing.TB) string {
	t.Helper()
	return Distribution{}.Start(t)
}

// Start serves the registry at a free port of this machine until the test ends,
// and returns HOST:PORT. The program is that of XFN_TEST_DOCKER_REGISTRY, or
// docker-registry, its name in Debian. Without one the test is skipped, or fails if
// XFN_REQUIRE, a comma-separated list, contains "registry".
func (d Distribution) Start(t testing.TB) string {
	t.Helper()
	program := os.Getenv("XFN_TEST_DOCKER_REGISTRY")
	if program == "" {
		program, _ = exec.LookPath("docker-registry")
	}
	if program == "" && slices.Contains(strings.Split(os.Getenv("XFN_REQUIRE"), ","), "registry") {
		t.Fatal("XFN_REQUIRE asks for a registry, but XFN_TEST_DOCKER_REGISTRY names no program, and there is no docker-registry")
	}
	if program == "" {
		t.Skip("XFN_TEST_DOCKER_REGISTRY names no program, and there is no docker-registry")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(config, []byte(d.config(t, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", config)
	cmd.Env = []string{} // It would read REGISTRY_AUTH_FILE, which podman defines otherwise.
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
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

// config returns the configuration in YAML, and writes the files that it names to dir.
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
		hash, err := bcrypt.GenerateFromPassword([]byte(d.Password), bcrypt.MinCost)
		if err == nil {
			err = os.WriteFile(users, fmt.Appendf(nil, "%s:%s\n", d.User, hash), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %q}}\n", users)
	}
	return text
}

var listeningOn = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// listening reads the log up to the line with the address.
func listening(log io.Reader) (address string, err error) {
	var said strings.Builder
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if found := listeningOn.FindStringSubmatch(lines.Text()); found != nil {
			return found[1], nil
		}
		fmt.Fprintln(&said, lines.Text())
	}
	return "", errors.Join(errors.New(said.String()), lines.Err())
}
