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

	"github.com/xfn-dev/xfn/internal/registry"
)

// alice's password is "secret". Her hash is of the kind that htpasswd -B gives.
const alice = "alice:$2y$04$ZbSdjicnueeIbNByPZ3FAeaCZhL4AAZe6YvGDRFrLSKkdsh8u279m"

func TestUsers(t *testing.T) {
	cases := map[string]struct {
		reason, user, password string
		status                 int
	}{
		"Right":    {"who knows the password may do all", "alice", "secret", http.StatusOK},
		"Wrong":    {"who does not may do nothing", "alice", "Secret", http.StatusUnauthorized},
		"Empty":    {"no password is a wrong one", "alice", "", http.StatusUnauthorized},
		"Stranger": {"nor may others", "bob", "secret", http.StatusUnauthorized},
		"Nobody":   {"nor who says no name", "", "", http.StatusUnauthorized},
	}
	h := users(t, "# users\n\n"+alice+"\n").Only(open(t, t.TempDir()))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time, it may be remembered
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

// Clients find out by themselves that they have to log in.
func TestUsersPush(t *testing.T) {
	s := httptest.NewServer(users(t, alice).Only(open(t, t.TempDir())))
	defer s.Close()
	ref, img := tag(t, s.Listener.Addr().String(), "a:v1"), image(t)
	if err := remote.Write(ref, img); err == nil {
		t.Error("a push without a login is taken")
	}
	must(t, remote.Write(ref, img, remote.WithAuth(&authn.Basic{Username: "alice", Password: "secret"})))
}

func users(t *testing.T, content string) *registry.Users {
	t.Helper()
	path := filepath.Join(t.TempDir(), "htpasswd")
	must(t, os.WriteFile(path, []byte(content), 0o600))
	u, err := registry.ReadUsers(path)
	must(t, err)
	return u
}

func TestBadUsers(t *testing.T) {
	cases := map[string]struct{ reason, content, want string }{
		"None":  {"a registry that lets nobody in is a mistake", "# nobody\n", "it has none"},
		"MD5":   {"a hash that is easily broken is not taken", alice + "\nbob:$apr1$aaaaaaaa$bbbbbbbbbbbbbbbbbbbbbb\n", "line 2"},
		"Plain": {"nor is a password", "bob:secret\n", "line 1"},
		"Name":  {"nor a hash without a name", strings.TrimPrefix(alice, "alice"), "line 1"},
		"Line":  {"nor a line that is something else", "hello\n", "line 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "htpasswd")
			must(t, os.WriteFile(path, []byte(tc.content), 0o600))
			_, err := registry.ReadUsers(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
	if _, err := registry.ReadUsers(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is taken")
	}
}
