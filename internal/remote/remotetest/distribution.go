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

// A Distribution is Docker's registry, which most others descend from, as a
// process of its own. The zero value lets anybody do anything over plain HTTP.
type Distribution struct {
	// Dir keeps what is pushed. Several registries may share one. Default: one
	// that goes with the test.
	Dir string
	// User is the only one who is let in, by Password. Default: anybody.
	User, Password string
	// Certificate makes it speak TLS.
	Certificate *Certificate
	// ReadOnly makes it refuse whatever would change something.
	ReadOnly bool
	// Deletes makes it delete what it is asked to.
	Deletes bool
}

// Registry returns the address (HOST:PORT) of a real registry, which is empty.
// It is Distribution's zero value, started.
func Registry(t testing.TB) string {
	t.Helper()
	return Distribution{}.Start(t)
}

// Start serves the registry at a free port of this machine until the test ends,
// and returns HOST:PORT. The program is the one that XFN_TEST_DOCKER_REGISTRY
// names, or docker-registry, as Debian calls it. Without one the test is
// skipped, or fails if XFN_REQUIRE, a comma-separated list, holds "registry".
func (d Distribution) Start(t testing.TB) string {
	t.Helper()
	program := d.program(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(config, []byte(d.config(t, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", config)
	cmd.Env = []string{} // Its variables have the names of others: REGISTRY_AUTH_FILE.
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

func (Distribution) program(t testing.TB) string {
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
	return program
}

// config is its configuration, in YAML. What that names is put into dir.
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

// listening reads a registry's log up to where it says that it listens.
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
