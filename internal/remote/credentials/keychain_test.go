package credentials_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// packed returns an entry of "auths" for a user whose password is canary.
// Docker encodes the user name and the password in base64.
func packed(user string) map[string]string {
	return map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":" + canary))}
}

func auths(entries map[string]map[string]string) map[string]any {
	return map[string]any{"auths": entries}
}

func TestFile(t *testing.T) {
	const repo = "registry.example.org/acme/team/fn"
	cases := map[string]struct {
		reason string
		config any
		repo   string
		want   authn.AuthConfig
	}{
		"Auth":     {"an encoded user name and password are decoded", auths(map[string]map[string]string{"registry.example.org": packed("ada")}), repo, authn.AuthConfig{Username: "ada", Password: canary}},
		"Apart":    {"user name and password may be separate fields", auths(map[string]map[string]string{"registry.example.org": {"username": "ada", "password": "a:b"}}), repo, authn.AuthConfig{Username: "ada", Password: "a:b"}},
		"Colon":    {"a password may contain a colon", auths(map[string]map[string]string{"registry.example.org": {"auth": "YWRhOmE6Yg=="}}), repo, authn.AuthConfig{Username: "ada", Password: "a:b"}},
		"Zeros":    {"the padding of old versions of Docker is removed", auths(map[string]map[string]string{"registry.example.org": {"auth": "YWRhOmEAAA=="}}), repo, authn.AuthConfig{Username: "ada", Password: "a"}},
		"Identity": {"an entry may have an identity token", auths(map[string]map[string]string{"registry.example.org": {"auth": "PHRva2VuPjo=", "identitytoken": canary}}), repo, authn.AuthConfig{Username: "<token>", IdentityToken: canary}},
		"Token":    {"an entry may have a registry token", auths(map[string]map[string]string{"registry.example.org": {"registrytoken": canary}}), repo, authn.AuthConfig{RegistryToken: canary}},
		"Repository": {"the most specific entry is used", auths(map[string]map[string]string{
			"registry.example.org": packed("all"), "registry.example.org/acme": packed("acme"), "registry.example.org/acme/team/fn": packed("fn"), "registry.example.org/acme/team": packed("team"),
		}), repo, authn.AuthConfig{Username: "fn", Password: canary}},
		"Namespace": {"the entry of a namespace has precedence over the entry of the registry", auths(map[string]map[string]string{
			"registry.example.org": packed("all"), "registry.example.org/acme": packed("acme"), "registry.example.org/acme/te": packed("te"),
		}), repo, authn.AuthConfig{Username: "acme", Password: canary}},
		"OtherNamespace": {"an entry of another namespace is not used", auths(map[string]map[string]string{"registry.example.org/other": packed("other")}), repo, authn.AuthConfig{}},
		"EmptyNamespace": {"an empty entry of a namespace is ignored", auths(map[string]map[string]string{"registry.example.org/acme": {}, "registry.example.org": packed("all")}), repo, authn.AuthConfig{Username: "all", Password: canary}},
		"OtherHost":      {"an entry of another registry is not used", auths(map[string]map[string]string{"example.org": packed("a"), "registry.example.org.evil.example": packed("b"), "registry.example.org:5000": packed("c")}), repo, authn.AuthConfig{}},
		"Port":           {"a port is part of the name", auths(map[string]map[string]string{"registry.example.org:5000": packed("c")}), "registry.example.org:5000/fn", authn.AuthConfig{Username: "c", Password: canary}},
		"URL":            {"a key may be a URL, as in old versions of Docker", auths(map[string]map[string]string{"https://registry.example.org/v1/": packed("old")}), repo, authn.AuthConfig{Username: "old", Password: canary}},
		"Slash":          {"a key may end in a slash", auths(map[string]map[string]string{"registry.example.org/": packed("old")}), repo, authn.AuthConfig{Username: "old", Password: canary}},
		"URLAndName":     {"a key without a scheme precedes a URL", auths(map[string]map[string]string{"http://registry.example.org/v2/": packed("old"), "registry.example.org": packed("new")}), repo, authn.AuthConfig{Username: "new", Password: canary}},
		"Hub":            {"the key that Docker uses for Docker Hub is used", auths(map[string]map[string]string{"https://index.docker.io/v1/": packed("hub")}), "docker.io/acme/fn", authn.AuthConfig{Username: "hub", Password: canary}},
		"HubShort":       {"the key that podman writes for Docker Hub is used", auths(map[string]map[string]string{"docker.io": packed("hub")}), "index.docker.io/acme/fn", authn.AuthConfig{Username: "hub", Password: canary}},
		"Empty":          {"an empty file has no entries", " \n", repo, authn.AuthConfig{}},
		"More":           {"unknown fields are ignored", `{"auths":{"registry.example.org":{"auth":"YWRhOmE=","email":"x"}},"HttpHeaders":{"a":"b"},"psFormat":"x"}`, repo, authn.AuthConfig{Username: "ada", Password: "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "config.json"), tc.config)
			got, source, err := resolve(t, credentials.New(credentials.Sources{Files: []string{path}}), tc.repo)
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, got)
			if found := got != (authn.AuthConfig{}); found && source != path || !found && source != "" {
				t.Errorf("%s: from %q", tc.reason, source)
			}
		})
	}
}

// The error of an unreadable configuration file names the file and the cause,
// but contains none of the file's content.
func TestFileErrors(t *testing.T) {
	cases := map[string]struct{ reason, config, want, hint string }{
		"Cut":    {"a truncated file is an error", "{\n\"auths\": {\n\"" + canary, `reading "~/config.json", line 3: expected a configuration of Docker or podman in JSON`, "repair the file"},
		"Type":   {"an entry that is not an object is an error", "{\n\"auths\": {\"registry.example.org\": \"" + canary + "\"}}", `reading "~/config.json", line 2: `, "repair the file"},
		"List":   {"a file that is a list is an error", "[\"" + canary + "\"]", `reading "~/config.json", line 1: `, "repair the file"},
		"Base64": {"an auth that is not base64 is an error", `{"auths":{"registry.example.org":{"auth":"` + canary + `"}}}`, `the auth of "registry.example.org" is not USER:PASSWORD in base64`, "docker login registry.example.org"},
		"Colon":  {"an auth without a colon is an error", `{"auths":{"registry.example.org":{"auth":"YWRh"}}}`, `the auth of "registry.example.org"`, "docker login"},
		"Large":  {"the size of a file is limited", strings.Repeat(" ", 1<<20+1), "expected a configuration of at most 1 MiB", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := write(t, filepath.Join(home, "config.json"), tc.config)
			_, _, err := resolve(t, credentials.New(credentials.Sources{Files: []string{path}, Home: home}), "registry.example.org/acme/fn")
			check(t, tc.reason, err, tc.want, tc.hint)
		})
	}
	for text, want := range map[string]string{ // The value may also belong to another variable.
		filepath.Join(t.TempDir(), "config.json"):                  "to name a file, set REGISTRY_AUTH_FILE instead of DOCKER_AUTH_CONFIG",
		base64.StdEncoding.EncodeToString([]byte(`{"auths": {}}`)): "decode it first with base64 -d",
	} {
		_, _, err := resolve(t, credentials.New(credentials.Sources{Text: text}), "registry.example.org/acme/fn")
		check(t, "DOCKER_AUTH_CONFIG is the text of a configuration", err, `reading "DOCKER_AUTH_CONFIG", line 1: expected a configuration`, want)
	}
	t.Run("Folder", func(t *testing.T) {
		dir := t.TempDir()
		_, _, err := resolve(t, credentials.New(credentials.Sources{Files: []string{dir}}), "registry.example.org/acme/fn")
		check(t, "a folder instead of a file is an error", err, dir, "")
	})
}

func check(t *testing.T, reason string, err error, want, next string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%s: got %v, want %q", reason, err, want)
	}
	e2e.Has(t, reason, string(hint.Of(err)), next)
	for _, text := range []string{err.Error(), string(hint.Of(err))} {
		if strings.Contains(text, canary) {
			t.Errorf("%s: the error contains a secret: %s", reason, text)
		}
	}
}

// A registry refuses a password with a newline, which echo adds.
func TestAdvice(t *testing.T) {
	const again = "write the password without the newline, with printf or echo -n"
	config := auths(map[string]map[string]string{"registry.example.org": {"auth": base64.StdEncoding.EncodeToString([]byte("ada:" + canary + "\n"))}})
	path := write(t, filepath.Join(t.TempDir(), "config.json"), config)
	for reason, tc := range map[string]struct {
		sources credentials.Sources
		repo    string
		want    hint.Hint
	}{
		"a password with a newline is written again": {credentials.Sources{Files: []string{path}}, "registry.example.org/fn", again},
		"a token with a newline is written again":    {credentials.Sources{Token: canary + "\n"}, "ghcr.io/fn", again},
		"a token may lack a permission":              {credentials.Sources{Token: canary}, "ghcr.io/fn", "give the token the permission for packages, unset it"},
	} {
		repo := e2e.Must(name.NewRepository(tc.repo))(t)
		auth := e2e.Must(authn.Resolve(t.Context(), credentials.New(tc.sources), repo))(t)
		e2e.Equal(t, reason, tc.want, auth.(*credentials.Credential).Advice)
	}
}

func TestOverlooked(t *testing.T) {
	dir := t.TempDir()
	wrong := write(t, filepath.Join(dir, "wrong", "config.json"), `{"auth":{"registry.example.org":"`+canary+`"}}`)
	right := write(t, filepath.Join(dir, "right", "config.json"), `{"auths":{},"currentContext":"x"}`)
	for _, tc := range []struct{ reason, env, want, hint string }{
		{"a file with other registries is right", "REGISTRY_AUTH_FILE=" + right, "", ""},
		{"the directory of a configuration is right", "DOCKER_CONFIG=" + filepath.Dir(right), "", ""},
		{"nothing needs to be set", "A=b", "", ""},
		{"a file of credentials must exist", "REGISTRY_AUTH_FILE=/none/auth.json", `REGISTRY_AUTH_FILE is "/none/auth.json": no such file`, "correct REGISTRY_AUTH_FILE"},
		{"a file is not the directory of config.json", "DOCKER_CONFIG=" + right, "DOCKER_CONFIG must be a directory, got the file \"" + right + "\"", "set DOCKER_CONFIG to the directory of config.json"},
		{"the directory of a configuration must exist", "DOCKER_CONFIG=~/docker", `DOCKER_CONFIG is "~/docker": no such file`, "correct DOCKER_CONFIG"},
		{"docker login writes into an empty directory", "DOCKER_CONFIG=" + dir, "", ""},
		{"a configuration has the field auths", "DOCKER_CONFIG=" + filepath.Dir(wrong), wrong + ` has the field "auth"`, "rename the field to auths"},
	} {
		err := credentials.New(credentials.FromEnviron([]string{tc.env})).Overlooked()
		if tc.want != "" || err != nil {
			check(t, tc.reason, err, tc.want, tc.hint)
		}
	}
}

// A source of credentials is used only if no earlier source has an entry for
// the repository.
func TestOrder(t *testing.T) {
	home := t.TempDir()
	at := func(below ...string) string { return filepath.Join(append([]string{home}, below...)...) }
	env := []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + at("run"), "REGISTRY_AUTH_FILE=" + at("named.json"),
		"GITHUB_TOKEN=" + canary, "GITHUB_ACTOR=ada",
		`DOCKER_AUTH_CONFIG={"auths":{"ghcr.io":{"auth":"` + packed("text")["auth"] + `"}},"credsStore":"absent"}`,
	}
	files := []string{at("named.json"), at(".docker", "config.json"), at("run", "containers", "auth.json"), at(".config", "containers", "auth.json")}
	for _, path := range files {
		write(t, path, auths(map[string]map[string]string{"ghcr.io": packed(path), "registry.example.org": {}}))
	}
	others := []credentials.Other{{Name: "a cloud", Keychain: cloud{}}}
	expect := func(user, source string) {
		t.Helper()
		s := credentials.FromEnviron(env)
		s.Others = func() []credentials.Other { return others }
		got, from, err := resolve(t, credentials.New(s), "ghcr.io/acme/fn")
		if err != nil || from != source || got.Username != user {
			t.Errorf("got %q of %q, %v, want %q of %q", got.Username, from, err, user, source)
		}
	}
	expect("text", "DOCKER_AUTH_CONFIG")
	env = env[:5]
	for i, source := range []string{"~/named.json", "~/.docker/config.json", "~/run/containers/auth.json", "~/.config/containers/auth.json"} {
		expect(files[i], source)
		e2e.NoError(t, os.Remove(files[i]))
	}
	expect("ada", "GITHUB_TOKEN")
	env = env[:4]
	expect("token", "GITHUB_TOKEN")
	env = env[:3]
	expect("cloud", "a cloud")
	others = nil
	expect("", "")
}

// A GitHub token is used only for GitHub's registry.
func TestGitHubIsForGHCR(t *testing.T) {
	k := credentials.New(credentials.FromEnviron([]string{"GITHUB_TOKEN=" + canary}))
	for _, repo := range []string{"registry.example.org/ghcr.io/fn", "ghcr.io.example.org/acme/fn", "ghcr.io:8443/acme/fn", "docker.io/ghcr/fn"} {
		if got, source, err := resolve(t, k, repo); err != nil || source != "" || got != (authn.AuthConfig{}) {
			t.Errorf("%s gets %q, %v", repo, source, err)
		}
	}
}

type cloud struct{}

func (cloud) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: "cloud", Password: canary}, nil
}

type broken struct{}

func (broken) Resolve(authn.Resource) (authn.Authenticator, error) { return nil, errors.New("broken") }

func TestOtherFails(t *testing.T) {
	k := credentials.New(credentials.Sources{Others: func() []credentials.Other { return []credentials.Other{{Name: "a cloud", Keychain: broken{}}} }})
	_, _, err := resolve(t, k, "registry.example.org/acme/fn")
	check(t, "the error names the keychain", err, "getting credentials from a cloud: broken", "")
}

func TestFromEnviron(t *testing.T) {
	join := filepath.Join
	home := join("/", "home", "ada")
	run := []string{}
	if runtime.GOOS == "linux" {
		run = []string{join("/run/containers", strconv.Itoa(os.Getuid()), "auth.json")}
	}
	cases := map[string]struct {
		reason    string
		env, want []string
	}{
		"Nothing": {"without variables only the file of podman is used", nil, run},
		"Home":    {"the files are in the home directory", []string{"HOME=" + home}, slices.Concat([]string{join(home, ".docker/config.json")}, run, []string{join(home, ".config/containers/auth.json")})},
		"All": {
			"environment variables override the defaults",
			[]string{"HOME=" + home, "DOCKER_CONFIG=/d", "XDG_RUNTIME_DIR=/r", "XDG_CONFIG_HOME=/c", "REGISTRY_AUTH_FILE=/a.json"},
			[]string{join("/a.json"), join("/d/config.json"), join("/r/containers/auth.json"), join("/c/containers/auth.json")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, credentials.FromEnviron(tc.env).Files)
		})
	}
}

// Resolve, which has no context, returns an error and calls no source.
func TestResolveWithoutContext(t *testing.T) {
	e2e.Error(t, "no source is called for nil", e2e.Err(credentials.New(credentials.Sources{}).Resolve(nil)))
}

// FuzzFile checks that no content of a configuration file causes a panic, and
// that no error contains that content.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		`{"auths":{"registry.example.org":{"auth":"YWRhOmE="}}}`, `{"auths":{"https://registry.example.org/v1/":{"identitytoken":"x"}},"credHelpers":{"registry.example.org":"../x"},"credsStore":"y"}`,
		`{"auths":{"registry.example.org/acme":null,"":{}}}`, `[`, `{"auths":{"registry.example.org":{"auth":"!"}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k := credentials.New(credentials.Sources{Text: text})
		_, source, err := resolve(t, k, "registry.example.org/acme/fn")
		if err != nil && source != "" || source != "" && strings.TrimSuffix(source, ", whose password ends with a newline") != "DOCKER_AUTH_CONFIG" {
			t.Errorf("from %q: %v", source, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), `reading "DOCKER_AUTH_CONFIG"`) {
			t.Errorf("got %v", err)
		}
	})
}
