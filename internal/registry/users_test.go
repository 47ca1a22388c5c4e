package registry_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// alice has the password "secret", hashed as by htpasswd -B.
const alice = "alice:$2y$04$ZbSdjicnueeIbNByPZ3FAeaCZhL4AAZe6YvGDRFrLSKkdsh8u279m"

func TestUsers(t *testing.T) {
	cases := map[string]struct {
		reason, user, password string
		status                 int
	}{
		"Right":    {"the right password gives access", "alice", "secret", http.StatusOK},
		"Wrong":    {"a wrong password is refused", "alice", "Secret", http.StatusUnauthorized},
		"Empty":    {"an empty password is refused", "alice", "", http.StatusUnauthorized},
		"Stranger": {"an unknown user is refused", "bob", "secret", http.StatusUnauthorized},
		"Nobody":   {"a request without credentials is refused", "", "", http.StatusUnauthorized},
	}
	h := users(t, "# users\n\n"+alice+"\n").Only(e2e.Open(registry.Open(t.TempDir()))(t))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // The second request may use the cached login.
				r := httptest.NewRequest(http.MethodGet, "/v2/", nil)
				if tc.user != "" {
					r.SetBasicAuth(tc.user, tc.password)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != tc.status {
					t.Errorf("%s: got %d %s, want %d", tc.reason, w.Code, w.Body, tc.status)
				}
				if w.Code == http.StatusUnauthorized && (decode(w.Body.Bytes()) != "UNAUTHORIZED" || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic realm=")) {
					t.Errorf("%s: got %s, %v", tc.reason, w.Body, w.Header())
				}
			}
		})
	}
}

// TestUsersPush: clients authenticate when the registry asks them to.
func TestUsersPush(t *testing.T) {
	s := httptest.NewServer(users(t, alice).Only(e2e.Open(registry.Open(t.TempDir()))(t)))
	defer s.Close()
	ref, img := tag(t, s.Listener.Addr().String(), "a:v1"), image(t)
	e2e.Error(t, "a push without credentials is rejected", remote.Write(ref, img))
	e2e.NoError(t, remote.Write(ref, img, remote.WithAuth(&authn.Basic{Username: "alice", Password: "secret"})))
}

func users(t *testing.T, content string) *registry.Users {
	t.Helper()
	path := filepath.Join(t.TempDir(), "htpasswd")
	e2e.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return e2e.Must(registry.ReadUsers(path))(t)
}

func TestBadUsers(t *testing.T) {
	cases := map[string]struct{ reason, content, want string }{
		"None":  {"a file without users is an error", "# nobody\n", "the file has no users"},
		"MD5":   {"a hash other than bcrypt is an error", alice + "\nbob:$apr1$aaaaaaaa$bbbbbbbbbbbbbbbbbbbbbb\n", "line 2"},
		"Plain": {"a plain password is an error", "bob:secret\n", "line 1"},
		"Name":  {"a hash without a user name is an error", strings.TrimPrefix(alice, "alice"), "line 1"},
		"Line":  {"a line in another format is an error", "hello\n", "line 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "htpasswd")
			e2e.NoError(t, os.WriteFile(path, []byte(tc.content), 0o600))
			_, err := registry.ReadUsers(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
	e2e.Error(t, "a missing file is an error", e2e.Err(registry.ReadUsers(filepath.Join(t.TempDir(), "none"))))
}
