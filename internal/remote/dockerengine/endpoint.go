package dockerengine

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// An Endpoint is the address of a container engine, and how to authenticate the engine.
type Endpoint struct {
	// Host is the address of the engine, such as "unix:///var/run/docker.sock".
	Host string
	// From is the source of the address, for example "DOCKER_HOST".
	From string
	// TLS is nil for a connection without TLS.
	TLS *TLS
}

// TLS has the paths of the files for a TLS connection. Empty paths are not used.
type TLS struct {
	CA, Cert, Key string
	// SkipVerify disables the verification of the server's certificate.
	SkipVerify bool
}

// Find returns the endpoint that the docker command would use or, if there is none, the
// endpoint of podman. It tests whether the default sockets accept connections. It does
// not connect to any other address.
func Find(env Environment) (Endpoint, error) {
	if env.Host != "" {
		return env.named()
	}
	name, from, err := env.context()
	if err != nil {
		return Endpoint{}, err
	}
	if name != "" && name != defaultContext {
		return env.contextEndpoint(name, from)
	}
	return env.socket()
}

// named returns the endpoint with the address in DOCKER_HOST and the TLS settings of the
// environment.
func (env Environment) named() (Endpoint, error) {
	host := env.Host
	if strings.HasPrefix(host, "/") {
		return Endpoint{}, hint.Wrap(fmt.Errorf("reading DOCKER_HOST: %q is a path, expected the address of an engine", host), "write unix://"+host)
	}
	if !strings.Contains(host, "://") {
		host = "tcp://" + host
	}
	if err := checkHost(host); err != nil {
		return Endpoint{}, fmt.Errorf("reading DOCKER_HOST: %w", err)
	}
	e := Endpoint{Host: host, From: "DOCKER_HOST"}
	if strings.HasPrefix(host, "tcp://") && (env.TLS || env.Verify || env.CertPath != "") {
		e.TLS = tlsIn(cmp.Or(env.CertPath, env.Config), !env.Verify)
	}
	return e, nil
}

func checkHost(host string) error {
	scheme, rest, _ := strings.Cut(host, "://")
	switch scheme {
	case "unix", "tcp", "npipe", "ssh", "http", "https":
	default:
		return hint.Wrap(fmt.Errorf("%q is not the address of an engine", host), "use unix://PATH, tcp://HOST:PORT or ssh://USER@HOST")
	}
	if rest == "" {
		return fmt.Errorf("%q is not the address of an engine", host)
	}
	return nil
}

func tlsIn(dir string, skipVerify bool) *TLS {
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return ""
		}
		return path
	}
	return &TLS{CA: file("ca.pem"), Cert: file("cert.pem"), Key: file("key.pem"), SkipVerify: skipVerify}
}

// socket returns the endpoint of the first default socket that accepts connections. If
// none does, it returns the first socket that exists: to connect to it then fails with
// the reason.
func (env Environment) socket() (Endpoint, error) {
	if runtime.GOOS == "windows" {
		return Endpoint{Host: client.DefaultDockerHost, From: "the default"}, nil
	}
	return firstSocket(env.sockets())
}

func firstSocket(paths []string) (Endpoint, error) {
	there := ""
	for _, path := range paths {
		if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Mode()&os.ModeSocket == 0 {
			continue
		}
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return Endpoint{Host: "unix://" + path, From: "the default"}, nil
		}
		there = cmp.Or(there, path)
	}
	if there == "" {
		return Endpoint{}, hint.Wrap(fmt.Errorf("no container engine found: none of %s is a socket", strings.Join(paths, ", ")),
			"start Docker or podman, or set DOCKER_HOST or DOCKER_CONTEXT")
	}
	return Endpoint{Host: "unix://" + there, From: "the default"}, nil
}

// sockets returns the paths of the default sockets, in the order in which Find tries
// them: Docker, rootless Docker, Docker Desktop, podman.
func (env Environment) sockets() []string {
	paths := []string{strings.TrimPrefix(client.DefaultDockerHost, "unix://")}
	if env.RuntimeDir != "" {
		paths = append(paths, filepath.Join(env.RuntimeDir, "docker.sock"))
	}
	if env.Home != "" {
		paths = append(paths, filepath.Join(env.Home, ".docker", "run", "docker.sock"), filepath.Join(env.Home, ".docker", "desktop", "docker.sock"))
	}
	if env.RuntimeDir != "" {
		paths = append(paths, filepath.Join(env.RuntimeDir, "podman", "podman.sock"))
	}
	return append(paths, "/run/podman/podman.sock")
}

// An Environment has the environment variables and folders of a user that select an
// engine. In the zero value nothing is set.
type Environment struct {
	// Host is DOCKER_HOST: unix:///PATH, tcp://HOST:PORT, ssh://USER@HOST or
	// npipe:////./pipe/NAME.
	Host string
	// Context is DOCKER_CONTEXT: the name of a Docker context in Config. Host takes
	// precedence over Context.
	Context string
	// APIVersion is DOCKER_API_VERSION. If it is empty, client and engine negotiate the
	// version.
	APIVersion string
	// CertPath is DOCKER_CERT_PATH, a folder with ca.pem, cert.pem and key.pem.
	CertPath string
	// TLS and Verify report whether DOCKER_TLS and DOCKER_TLS_VERIFY are set.
	TLS, Verify bool
	// Config is the folder of the Docker configuration: DOCKER_CONFIG or $HOME/.docker.
	Config string
	// Home is the user's home directory, and RuntimeDir is XDG_RUNTIME_DIR. They contain
	// the sockets of rootless engines.
	Home, RuntimeDir string
}

// FromEnviron returns the Environment of a list of environment variables, each as
// "name=value".
func FromEnviron(environ []string) Environment {
	get := func(key string) string { return proc.Getenv(environ, key) }
	e := Environment{
		Host: get("DOCKER_HOST"), Context: get("DOCKER_CONTEXT"), APIVersion: get("DOCKER_API_VERSION"),
		CertPath: get("DOCKER_CERT_PATH"), TLS: get("DOCKER_TLS") != "", Verify: get("DOCKER_TLS_VERIFY") != "",
		Config: get("DOCKER_CONFIG"), RuntimeDir: get("XDG_RUNTIME_DIR"),
		Home: cmp.Or(get("HOME"), get("USERPROFILE")), // Windows sets USERPROFILE instead of HOME
	}
	if e.Config == "" && e.Home != "" {
		e.Config = filepath.Join(e.Home, ".docker")
	}
	return e
}
