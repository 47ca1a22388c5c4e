package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/xfn-dev/xfn/internal/proc"
)

// A Keychain is an authn.Keychain of Sources. It caches the credentials of credential
// helpers for some minutes. It is safe for concurrent use.
type Keychain struct {
	s Sources
	// turn guards answers, and is locked while a helper runs.
	turn    chan struct{}
	answers map[question]answer
}

// New returns the Keychain of s.
func New(s Sources) *Keychain {
	if s.HelperTimeout == 0 {
		s.HelperTimeout = time.Minute
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	return &Keychain{s: s, turn: make(chan struct{}, 1), answers: map[question]answer{}}
}

// A Credential is a credential and its source. The zero value is none.
type Credential struct {
	authn.Authenticator
	// Source is for messages, such as "~/.docker/config.json".
	Source string
}

// GitHub is the Source of a GitHub token.
const GitHub = "GITHUB_TOKEN"

// Resolve implements authn.Keychain. It returns an error: ResolveContext may take long
// and needs a context.
func (k *Keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return nil, errors.New("finding credentials requires a context")
}

// ResolveContext implements authn.ContextKeychain. It returns a *Credential, or
// authn.Anonymous if no source has an entry. Its errors name the source.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	c, err := k.find(ctx, target)
	if err != nil {
		return nil, err
	}
	if c.Source != "" {
		return &c, nil
	}
	for _, o := range k.s.Others {
		auth, err := authn.Resolve(ctx, o.Keychain, target)
		if err != nil {
			return nil, fmt.Errorf("asking %s: %w", o.Name, err)
		}
		if auth != authn.Anonymous {
			return &Credential{auth, o.Name}, nil
		}
	}
	return authn.Anonymous, nil
}

// find returns the credential of all sources but Others, or the zero value.
func (k *Keychain) find(ctx context.Context, target authn.Resource) (Credential, error) {
	const variable = "DOCKER_AUTH_CONFIG"
	if strings.TrimSpace(k.s.Text) != "" {
		f, err := parse(variable, []byte(k.s.Text))
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
		return Credential{&authn.Basic{Username: k.s.User, Password: k.s.Token}, GitHub}, nil
	}
	return Credential{}, nil
}

// inFile follows containers-auth.json(5): a helper for the registry is the only source;
// entries of a namespace precede that of the registry. A helper for all registries, which
// only Docker has, has no namespaces.
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

// show returns a path with ~ for the home directory.
func (k *Keychain) show(path string) string {
	if rest, ok := strings.CutPrefix(path, k.s.Home+string(filepath.Separator)); ok && k.s.Home != "" {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}

// Sources are the sources of a Keychain, in the order of the fields. The first one with
// an entry for a repository is used.
type Sources struct {
	// Text is the value of DOCKER_AUTH_CONFIG: a configuration without helpers.
	Text string
	// Files are configurations of Docker (config.json) and podman (auth.json). A
	// missing file has no entries.
	Files []string
	// Token is a GitHub token, for ghcr.io, and User its user. GitHub accepts any
	// name.
	Token, User string
	// Others are asked last.
	Others []Other

	// Home is written as ~ in the name of a source.
	Home string
	// Env is the environment of credential helpers, with their PATH.
	Env []string
	// HelperTimeout limits the time of a credential helper, which may ask the user.
	// Zero means a minute.
	HelperTimeout time.Duration
	// Now returns the time. Nil means time.Now.
	Now func() time.Time
}

// An Other is a keychain of another library, with a name for messages.
type Other struct {
	Name string
	authn.Keychain
}

// FromEnviron returns the sources of an environment, each variable as
// "name=value": DOCKER_AUTH_CONFIG; REGISTRY_AUTH_FILE; config.json in
// DOCKER_CONFIG, or else in ~/.docker; podman's auth.json in XDG_RUNTIME_DIR and
// in the user's configuration (containers-auth.json(5)); GITHUB_TOKEN.
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
