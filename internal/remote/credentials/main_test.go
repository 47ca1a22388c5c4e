package credentials_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

const (
	helper = "docker-credential-xyz"
	// modeVar is the variable that selects the behavior of the credential helper.
	// callsVar names the file in which the helper records its calls. dialVar is
	// the address to which the helper connects in mode "hangs".
	modeVar, callsVar, dialVar = "XFN_TEST_HELPER", "XFN_TEST_CALLS", "XFN_TEST_DIAL"
	canary                     = "canary-s3cret"
)

// TestMain runs the credential helper if the test binary has the helper's name.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), helper) {
		os.Exit(playHelper())
	}
	os.Exit(m.Run())
}

func playHelper() int {
	server, _ := io.ReadAll(os.Stdin)
	if len(os.Args) != 2 || os.Args[1] != "get" {
		return 2
	}
	if path := os.Getenv(callsVar); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 3
		}
		fmt.Fprintln(f, string(server))
		_ = f.Close()
	}
	switch os.Getenv(modeVar) {
	case "token":
		fmt.Printf(`{"ServerURL":"x","Username":"<token>","Secret":%q}`, canary)
	case "empty":
		fmt.Print(`{"ServerURL":"x","Username":"","Secret":""}`)
	case "none":
		fmt.Println("credentials not found in native keychain")
		return 1
	case "fails":
		fmt.Print(canary)
		fmt.Fprint(os.Stderr, canary)
		return 1
	case "garbage":
		fmt.Print("password: " + canary)
	case "floods":
		for {
			if _, err := fmt.Print(strings.Repeat(canary, 1000)); err != nil {
				return 1
			}
		}
	case "hangs":
		if address := os.Getenv(dialVar); address != "" {
			_, _ = net.Dial("tcp", address)
		}
		// select{} would end the program: without cgo, the Go runtime reports a deadlock.
		time.Sleep(e2e.Limit)
	default:
		fmt.Printf(`{"ServerURL":"x","Username":%q,"Secret":%q}`, string(server), canary)
	}
	return 0
}

// installHelper returns a directory that contains the test binary under the
// name of the credential helper.
func installHelper(t *testing.T) string {
	t.Helper()
	self := e2e.Must(os.Executable())(t)
	dir, file := t.TempDir(), helper
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if err := os.Link(self, filepath.Join(dir, file)); err == nil {
		return dir
	}
	b := []byte(e2e.ReadFile(t, self))
	e2e.NoError(t, os.WriteFile(filepath.Join(dir, file), b, 0o700))
	return dir
}

// write writes a configuration file, in JSON unless config is a string, and
// returns its path.
func write(t *testing.T, path string, config any) string {
	t.Helper()
	text, ok := config.(string)
	if !ok {
		text = string(e2e.Must(json.Marshal(config))(t))
	}
	e2e.WriteFile(t, path, text)
	return path
}

// resolve returns the credential that k finds for a repository, and the source
// of the credential.
func resolve(t *testing.T, k authn.Keychain, repository string) (authn.AuthConfig, string, error) {
	t.Helper()
	auth, err := authn.Resolve(t.Context(), k, e2e.Must(name.NewRepository(repository))(t))
	if err != nil {
		return authn.AuthConfig{}, "", err
	}
	config := e2e.Must(authn.Authorization(t.Context(), auth))(t)
	if auth == authn.Anonymous {
		return *config, "", nil
	}
	found, ok := auth.(*credentials.Credential)
	if !ok {
		t.Fatalf("got a %T", auth)
	}
	return *config, found.Source, nil
}
