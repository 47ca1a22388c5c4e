package credentials_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// helped returns the Sources of a user whose Docker configuration is config. The credential
// helper of these tests is on PATH, and runs with the variables env.
func helped(t *testing.T, config any, env ...string) credentials.Sources {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, ".docker", "config.json"), config)
	env = append(env, "HOME="+home, "XDG_RUNTIME_DIR="+home, "PATH="+installHelper(t), "GORACE=atexit_sleep_ms=0", callsVar+"="+filepath.Join(home, "calls"))
	return credentials.FromEnviron(env)
}

func calls(t *testing.T, s credentials.Sources) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Home, "calls"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	e2e.NoError(t, err)
	return strings.Fields(string(b))
}

func TestHelper(t *testing.T) {
	const (
		from   = "credential helper " + helper
		inFile = "~/.docker/config.json"
	)
	type values = map[string]any
	entry := map[string]map[string]string{"registry.example.org": packed("inline")}
	cases := map[string]struct {
		reason, mode  string
		config        values
		repo          string
		want          authn.AuthConfig
		source, asked string
	}{
		"Store":       {"a helper for all registries is used", "", values{"credsStore": "xyz"}, "registry.example.org/a", authn.AuthConfig{Username: "registry.example.org", Password: canary}, from, "registry.example.org"},
		"One":         {"a helper for one registry is used", "", values{"credHelpers": values{"registry.example.org": "xyz"}, "credsStore": "absent"}, "registry.example.org/a", authn.AuthConfig{Username: "registry.example.org", Password: canary}, from, "registry.example.org"},
		"NotThisOne":  {"a helper for another registry is not used", "", values{"credHelpers": values{"other.example.org": "xyz"}}, "registry.example.org/a", authn.AuthConfig{}, "", ""},
		"Off":         {"an empty name of a helper disables the helper for all registries", "", values{"credHelpers": values{"registry.example.org": ""}, "credsStore": "xyz", "auths": entry}, "registry.example.org/a", authn.AuthConfig{Username: "inline", Password: canary}, inFile, ""},
		"Hub":         {"Docker Hub is found by its old name", "", values{"credsStore": "xyz"}, "docker.io/acme/a", authn.AuthConfig{Username: "https://index.docker.io/v1/", Password: canary}, from, "https://index.docker.io/v1/"},
		"Port":        {"a port is part of the name", "", values{"credsStore": "xyz"}, "registry.example.org:5000/a", authn.AuthConfig{Username: "registry.example.org:5000", Password: canary}, from, "registry.example.org:5000"},
		"Token":       {"a helper may return an identity token", "token", values{"credsStore": "xyz"}, "registry.example.org/a", authn.AuthConfig{IdentityToken: canary}, from, "registry.example.org"},
		"Namespace":   {"an entry of a namespace precedes the helper for all registries", "", values{"credsStore": "xyz", "auths": values{"registry.example.org/acme": packed("acme")}}, "registry.example.org/acme/a", authn.AuthConfig{Username: "acme", Password: canary}, inFile, ""},
		"OneAlone":    {"a registry's own helper precedes an entry of a namespace", "", values{"credHelpers": values{"registry.example.org": "xyz"}, "auths": values{"registry.example.org/acme": packed("acme")}}, "registry.example.org/acme/a", authn.AuthConfig{Username: "registry.example.org", Password: canary}, from, "registry.example.org"},
		"Both":        {"the helper of a registry precedes its entry", "", values{"credsStore": "xyz", "auths": entry}, "registry.example.org/a", authn.AuthConfig{Username: "registry.example.org", Password: canary}, from, "registry.example.org"},
		"None":        {"a helper without an entry finds no credential", "none", values{"credsStore": "xyz"}, "registry.example.org/a", authn.AuthConfig{}, "", "registry.example.org"},
		"NoneButFile": {"an entry is used if the helper has none", "none", values{"credsStore": "xyz", "auths": entry}, "registry.example.org/a", authn.AuthConfig{Username: "inline", Password: canary}, inFile, "registry.example.org"},
		"Empty":       {"an empty answer of a helper is ignored", "empty", values{"credsStore": "xyz", "auths": entry}, "registry.example.org/a", authn.AuthConfig{Username: "inline", Password: canary}, inFile, "registry.example.org"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := helped(t, tc.config, modeVar+"="+tc.mode)
			got, source, err := resolve(t, credentials.New(s), tc.repo)
			if err != nil || got != tc.want || source != tc.source {
				t.Errorf("%s: got %v of %q, %v", tc.reason, got, source, err)
			}
			e2e.Equal(t, tc.reason, tc.asked, strings.Join(calls(t, s), " "))
		})
	}
}

// If a credential helper fails or exceeds its time limit, the error names the
// helper and has a hint. The error does not contain the helper's output.
func TestHelperErrors(t *testing.T) {
	cases := map[string]struct{ reason, mode, program, want, hint string }{
		"Fails":   {"a helper that fails is an error", "fails", "xyz", `the credential helper "docker-credential-xyz" failed: exit status 1`, "echo registry.example.org | docker-credential-xyz get"},
		"Garbage": {"a helper that prints no JSON is an error", "garbage", "xyz", `"docker-credential-xyz" did not return a credential`, "echo registry.example.org | "},
		"Floods":  {"the output of a helper is limited", "floods", "xyz", `"docker-credential-xyz" failed: `, "echo registry.example.org | "},
		"Hangs":   {"the time of a helper is limited", "hangs", "xyz", `"docker-credential-xyz" did not answer within 1.5s`, "echo registry.example.org | "},
		"Absent":  {"a missing helper is an error", "", "absent", `"~/.docker/config.json" names the credential helper "docker-credential-absent", and there is no such program on PATH`, "remove its name from ~/.docker/config.json"},
		"Path":    {"a helper must not be a path", "", "xyz/../docker-credential-xyz", "there is no such program on PATH", "remove its name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := helped(t, map[string]string{"credsStore": tc.program}, modeVar+"="+tc.mode)
			if tc.mode == "hangs" {
				s.HelperTimeout = 1500 * time.Millisecond
			}
			_, _, err := resolve(t, credentials.New(s), "registry.example.org/a")
			check(t, tc.reason, err, tc.want, tc.hint)
		})
	}
}

// A canceled context stops a running credential helper.
func TestHelperIsCancelled(t *testing.T) {
	l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if c, err := l.Accept(); err == nil {
			cancel()
			_ = c.Close()
		}
	}()
	k := credentials.New(helped(t, map[string]string{"credsStore": "xyz"}, modeVar+"=hangs", dialVar+"="+l.Addr().String()))
	repo := e2e.Must(name.NewRepository("registry.example.org/a"))(t)
	e2e.ErrorIs(t, "canceling stops the credential helper", e2e.Err(k.ResolveContext(ctx, repo)), context.Canceled)
}

// A credential helper runs once for concurrent requests to a registry, and
// again after its cached credential has expired.
func TestHelperIsAskedOnce(t *testing.T) {
	s := helped(t, map[string]string{"credsStore": "xyz"})
	now := time.Unix(0, 0)
	s.Now = func() time.Time { return now }
	k := credentials.New(s)
	var wg sync.WaitGroup
	for _, repo := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			if _, _, err := resolve(t, k, "registry.example.org/"+repo); err != nil {
				t.Error(err)
			}
		})
	}
	e2e.Wait(t, &wg)
	e2e.Equal(t, "the helper runs once", 1, len(calls(t, s)))
	now = now.Add(6 * time.Minute)
	if _, _, err := resolve(t, k, "registry.example.org/a"); err != nil || len(calls(t, s)) != 2 {
		t.Errorf("it ran %d times, %v", len(calls(t, s)), err)
	}
}
