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

// Sources are where a Keychain looks, in the order of the fields. The first that
// has an entry for a repository counts. The zero value has none.
type Sources struct {
	// Text is a configuration itself, as DOCKER_AUTH_CONFIG holds one: like a
	// file, but without helpers.
	Text string
	// Files are configurations of Docker (config.json) and podman (auth.json).
	// One that does not exist has no entries.
	Files []string
	// Token is of GitHub, for ghcr.io, and User whose it is, for which GitHub
	// takes any name.
	Token, User string
	// Others are asked last.
	Others []Other

	// Home is what is written as ~ in the name of a source.
	Home string
	// Env is the environment of credential helpers. PATH in it says where they
	// are.
	Env []string
	// HelperTimeout is how long a credential helper may take, which may ask its
	// user something. Zero means a minute.
	HelperTimeout time.Duration
	// Now is the time. Nil means that of the clock.
	Now func() time.Time
}

// An Other is a keychain of another library, by the name that people know.
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

// podmanFile is where podman keeps what it knows for as long as a user is logged
// in.
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
