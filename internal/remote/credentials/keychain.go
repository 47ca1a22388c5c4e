package credentials

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Keychain is an authn.Keychain that searches Sources. It caches the credentials of
// credential helpers for five minutes. It is safe for concurrent use.
type Keychain struct {
	s Sources
	// turn is a semaphore of size 1 that guards answers. It is locked while a helper runs.
	turn    chan struct{}
	answers map[question]answer
}

// New returns a Keychain that searches s.
func New(s Sources) *Keychain {
	s.HelperTimeout = cmp.Or(s.HelperTimeout, time.Minute)
	if s.Now == nil {
		s.Now = time.Now
	}
	return &Keychain{s: s, turn: make(chan struct{}, 1), answers: map[question]answer{}}
}

// A Credential is a credential and the place where it was found. The zero value means that
// no credential was found.
type Credential struct {
	authn.Authenticator
	// Source names the place in messages, such as "~/.docker/config.json".
	Source string
	// Advice has the next steps, besides another login, after a registry has refused the credential, or
	// is "".
	Advice hint.Hint
}

// textVariable is the environment variable with the text of a configuration.
const textVariable = "DOCKER_AUTH_CONFIG"

// gitHub is the environment variable with a token, and the Credential.Source of the token.
const gitHub = "GITHUB_TOKEN"

// Resolve implements authn.Keychain. It always returns an error, because finding credentials
// may take long and needs a context: use ResolveContext.
func (k *Keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return nil, errors.New("finding credentials requires a context")
}

// ResolveContext implements authn.ContextKeychain. It returns a *Credential, or
// authn.Anonymous if no source has an entry for target. Errors name the source.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	c, err := k.find(ctx, target)
	if err != nil {
		return nil, err
	}
	if c.Source != "" {
		return &c, nil
	}
	if k.s.Others == nil {
		return authn.Anonymous, nil
	}
	for _, o := range k.s.Others() {
		auth, err := authn.Resolve(ctx, o.Keychain, target)
		if err != nil {
			return nil, fmt.Errorf("getting credentials from %s: %w", o.Name, err)
		}
		if auth != authn.Anonymous {
			return &Credential{Authenticator: auth, Source: o.Name}, nil
		}
	}
	return authn.Anonymous, nil
}

// find searches all sources except Sources.Others. It returns the zero value if no source
// has an entry for target.
func (k *Keychain) find(ctx context.Context, target authn.Resource) (Credential, error) {
	if strings.TrimSpace(k.s.Text) != "" {
		f, err := parse(textVariable, []byte(k.s.Text))
		if err != nil {
			return Credential{}, err
		}
		f.CredHelpers, f.CredsStore = nil, ""
		if c, err := k.inFile(ctx, f, target); err != nil || c.Source != "" {
			return c, err
		}
	}
	for _, path := range k.s.Files {
		f, err := read(path, k.show(path))
		if err != nil {
			return Credential{}, err
		}
		if c, err := k.inFile(ctx, f, target); err != nil || c.Source != "" {
			return c, err
		}
	}
	if target.RegistryStr() == "ghcr.io" && k.s.Token != "" {
		c := newCredential(authn.AuthConfig{Username: k.s.User, Password: k.s.Token}, gitHub)
		c.Advice = cmp.Or(c.Advice, "give the token the permission for packages, unset it")
		return c, nil
	}
	return Credential{}, nil
}

// inFile finds the credential for target in a configuration file, in the order of
// containers-auth.json(5). If a helper is configured for this registry only, inFile asks it
// and ignores all entries. Otherwise it uses the entry for a namespace, then a helper for
// all registries (only Docker has one), then the entry for the registry.
func (k *Keychain) inFile(ctx context.Context, f file, target authn.Resource) (Credential, error) {
	host := target.RegistryStr()
	helper, alone := f.helper(host)
	if alone && helper != "" {
		return k.ask(ctx, f, helper, host)
	}
	for key := target.String(); key != host && strings.Contains(key, "/"); key = key[:strings.LastIndex(key, "/")] {
		if c, err := f.credential(key); err != nil || c.Source != "" {
			return c, err
		}
	}
	if helper != "" {
		if c, err := k.ask(ctx, f, helper, host); err != nil || c.Source != "" {
			return c, err
		}
	}
	return f.registry(host)
}

// Overlooked returns an error for something that was probably meant as a source of credentials,
// but has no credentials: a variable that names a file or directory of the wrong kind, or a file
// whose fields have other names. Otherwise it returns nil.
func (k *Keychain) Overlooked() error {
	if path := proc.Getenv(k.s.Env, "REGISTRY_AUTH_FILE"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return hint.Wrap(fmt.Errorf("REGISTRY_AUTH_FILE is %q: %w", path, fsx.Cause(err)), "correct REGISTRY_AUTH_FILE")
		}
	}
	if dir := proc.Getenv(k.s.Env, "DOCKER_CONFIG"); dir != "" {
		switch info, err := os.Stat(dir); {
		case err != nil:
			return hint.Wrap(fmt.Errorf("DOCKER_CONFIG is %q: %w", dir, fsx.Cause(err)), "correct DOCKER_CONFIG")
		case !info.IsDir():
			return hint.Wrap(fmt.Errorf("DOCKER_CONFIG must be a directory, got the file %q", dir), "set DOCKER_CONFIG to the directory of config.json")
		}
	}
	for _, path := range k.s.Files {
		text, err := os.ReadFile(path)
		var fields map[string]any
		if err != nil || json.Unmarshal(text, &fields) != nil || fields["auths"] != nil {
			continue
		}
		if near := hint.Nearest("auths", slices.Sorted(maps.Keys(fields))); near != "" && !strings.EqualFold(near, "auths") {
			return hint.Wrap(fmt.Errorf("%s has the field %q", k.show(path), near), "rename the field to auths")
		}
	}
	return nil
}

// show returns path for messages, with the home directory written as ~.
func (k *Keychain) show(path string) string {
	if rest, ok := strings.CutPrefix(path, k.s.Home+string(filepath.Separator)); ok && k.s.Home != "" {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}

// Sources are the places that a Keychain searches, in the order of the fields. The Keychain
// uses the first place that has an entry for the repository.
type Sources struct {
	// Text is the value of DOCKER_AUTH_CONFIG: a configuration in JSON. Its credential helpers
	// are ignored.
	Text string
	// Files are the paths of configurations of Docker (config.json) and podman (auth.json). A
	// missing file counts as empty.
	Files []string
	// Token is a GitHub token, which is used for ghcr.io. User is the user name that is sent
	// with the token; GitHub accepts any name.
	Token, User string
	// Others returns keychains of other libraries. The Keychain searches them last, and calls Others
	// only then. Nil means none.
	Others func() []Other

	// Home is the home directory. It is written as ~ in Credential.Source.
	Home string
	// Env is the environment in which credential helpers are found and run.
	Env []string
	// HelperTimeout limits how long a credential helper may run. A helper may wait for input of
	// the user. Zero means a minute.
	HelperTimeout time.Duration
	// Now returns the current time. Nil means time.Now.
	Now func() time.Time
}

// An Other is a keychain of another library. Name identifies it in messages.
type Other struct {
	Name string
	authn.Keychain
}

// FromEnviron returns the sources that the environment env selects. Each entry of env is
// "name=value". The sources are DOCKER_AUTH_CONFIG; REGISTRY_AUTH_FILE; config.json in
// DOCKER_CONFIG or ~/.docker; podman's auth.json in XDG_RUNTIME_DIR and in the user's
// configuration directory (containers-auth.json(5)); GITHUB_TOKEN.
func FromEnviron(env []string) Sources {
	get := func(key string) string { return proc.Getenv(env, key) }
	home := cmp.Or(get("HOME"), get("USERPROFILE"))
	s := Sources{
		Text: get("DOCKER_AUTH_CONFIG"), Home: home, Env: env,
		Token: get("GITHUB_TOKEN"), User: cmp.Or(get("GITHUB_ACTOR"), "token"),
	}
	join := func(dir string, below ...string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(append([]string{dir}, below...)...)
	}
	s.Files = slices.DeleteFunc([]string{
		get("REGISTRY_AUTH_FILE"),
		join(cmp.Or(get("DOCKER_CONFIG"), join(home, ".docker")), "config.json"),
		podmanFile(get("XDG_RUNTIME_DIR")),
		join(cmp.Or(get("XDG_CONFIG_HOME"), join(home, ".config")), "containers", "auth.json"),
	}, func(path string) bool { return path == "" })
	return s
}

// podmanFile returns the file in which podman stores credentials until the user logs out.
func podmanFile(runtimeDir string) string {
	switch {
	case runtimeDir != "":
		return filepath.Join(runtimeDir, "containers", "auth.json")
	case runtime.GOOS == "linux":
		return fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid())
	default:
		return ""
	}
}
