package credentials

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/xfn-dev/xfn/internal/proc"
)

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
