package dockerengine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
)

func TestFromEnviron(t *testing.T) {
	got := dockerengine.FromEnviron([]string{
		"HOME=/home/ada", "DOCKER_HOST=tcp://docker:2376", "DOCKER_CERT_PATH=/certs", "DOCKER_TLS_VERIFY=1", "DOCKER_CONTEXT=c",
		"DOCKER_API_VERSION=1.41", "XDG_RUNTIME_DIR=/run/user/1", "OTHER=x",
	})
	want := dockerengine.Environment{
		Host: "tcp://docker:2376", CertPath: "/certs", Verify: true, Context: "c", APIVersion: "1.41",
		Config: filepath.Join("/home/ada", ".docker"), Home: "/home/ada", RuntimeDir: "/run/user/1",
	}
	e2e.Equal(t, "each variable of Docker sets its field", want, got)
	if got := dockerengine.FromEnviron([]string{"USERPROFILE=C:/ada", "DOCKER_CONFIG=D:/docker"}); got.Home != "C:/ada" || got.Config != "D:/docker" {
		t.Errorf("got %+v", got)
	}
}

// write writes a file and creates its parent folders.
func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	e2e.WriteFile(t, file, text)
	return file
}

// context creates a Docker context in a configuration.
func context(t *testing.T, config, name, meta string) (tlsDir string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	folder := hex.EncodeToString(sum[:])
	write(t, meta, config, "contexts/meta", folder, "meta.json")
	return filepath.Join(config, "contexts/tls", folder, "docker")
}

func TestFind(t *testing.T) {
	config := t.TempDir()
	write(t, `{"auths": {}, "currentContext": "current"}`, config, "config.json")
	context(t, config, "current", `{"Name": "current", "Endpoints": {"docker": {"Host": "tcp://there:2375"}}}`)
	certified := context(t, config, "certified", `{"Endpoints": {"docker": {"Host": "tcp://there:2376", "SkipTLSVerify": true}}}`)
	ca := write(t, "", certified, "ca.pem")
	context(t, config, "odd", `{"Endpoints": {"docker": {"Host": "fd://"}}}`)
	context(t, config, "broken", `{"Endpoints": [`)
	certs := t.TempDir()
	cert, key := write(t, "", certs, "cert.pem"), write(t, "", certs, "key.pem")
	broken := t.TempDir()
	write(t, "{", broken, "config.json")

	cases := map[string]struct {
		reason  string
		env     dockerengine.Environment
		want    dockerengine.Endpoint
		wantErr string
	}{
		"Host":        {"DOCKER_HOST takes precedence over every context", dockerengine.Environment{Host: "unix:///s", Context: "current", Config: config}, dockerengine.Endpoint{Host: "unix:///s", From: "DOCKER_HOST"}, ""},
		"Bare":        {"an address without a scheme is TCP", dockerengine.Environment{Host: "docker:2375"}, dockerengine.Endpoint{Host: "tcp://docker:2375", From: "DOCKER_HOST"}, ""},
		"Verify":      {"TLS uses the files that exist", dockerengine.Environment{Host: "tcp://docker:2376", CertPath: certs, Verify: true}, dockerengine.Endpoint{Host: "tcp://docker:2376", From: "DOCKER_HOST", TLS: &dockerengine.TLS{Cert: cert, Key: key}}, ""},
		"TLS":         {"TLS uses the files of the configuration by default, without verification", dockerengine.Environment{Host: "tcp://docker:2376", Config: certs, TLS: true}, dockerengine.Endpoint{Host: "tcp://docker:2376", From: "DOCKER_HOST", TLS: &dockerengine.TLS{Cert: cert, Key: key, SkipVerify: true}}, ""},
		"Plain":       {"a socket needs no TLS", dockerengine.Environment{Host: "unix:///s", CertPath: certs, Verify: true}, dockerengine.Endpoint{Host: "unix:///s", From: "DOCKER_HOST"}, ""},
		"Scheme":      {"an address has the scheme of an engine", dockerengine.Environment{Host: "ftp://docker"}, dockerengine.Endpoint{}, `reading DOCKER_HOST: "ftp://docker" is not the address of an engine`},
		"Path":        {"the path of a socket has a scheme", dockerengine.Environment{Host: "/var/run/docker.sock"}, dockerengine.Endpoint{}, `reading DOCKER_HOST: "/var/run/docker.sock" is a path, expected the address of an engine`},
		"Nothing":     {"an address needs a path or host", dockerengine.Environment{Host: "unix://"}, dockerengine.Endpoint{}, `"unix://" is not the address of an engine`},
		"Current":     {"the configuration selects a context", dockerengine.Environment{Config: config}, dockerengine.Endpoint{Host: "tcp://there:2375", From: `Docker context "current"`}, ""},
		"Context":     {"DOCKER_CONTEXT takes precedence over the configuration", dockerengine.Environment{Config: config, Context: "certified"}, dockerengine.Endpoint{Host: "tcp://there:2376", From: `Docker context "certified"`, TLS: &dockerengine.TLS{CA: ca, SkipVerify: true}}, ""},
		"Unknown":     {"a context must exist", dockerengine.Environment{Config: config, Context: "nowhere"}, dockerengine.Endpoint{}, `DOCKER_CONTEXT selects Docker context "nowhere", which does not exist`},
		"Odd":         {"a context needs the address of an engine", dockerengine.Environment{Config: config, Context: "odd"}, dockerengine.Endpoint{}, `reading Docker context "odd": "fd://" is not the address of an engine`},
		"Broken":      {"the file of a context must be valid JSON", dockerengine.Environment{Config: config, Context: "broken"}, dockerengine.Endpoint{}, "meta.json\": unexpected EOF"},
		"BrokenThere": {"the configuration must be valid JSON", dockerengine.Environment{Config: broken}, dockerengine.Endpoint{}, "config.json\": unexpected EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := dockerengine.Find(tc.env)
			if tc.wantErr != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// listen creates a unix socket. If dead is set, no process listens on it.
func listen(t *testing.T, path string, dead bool) {
	t.Helper()
	e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	l := e2e.Must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	if dead {
		_ = l.Close()
	}
	t.Cleanup(func() { _ = l.Close() })
}

// TestFindSocket checks the order of the default sockets: root's before the user's,
// Docker's before podman's. A socket with a listener comes before all sockets without one.
func TestFindSocket(t *testing.T) {
	dir := e2e.ShortDir(t)
	env := dockerengine.Environment{Home: filepath.Join(dir, "home"), RuntimeDir: filepath.Join(dir, "run")}
	all := dockerengine.Sockets(env)
	want := []string{
		"/var/run/docker.sock", env.RuntimeDir + "/docker.sock", env.Home + "/.docker/run/docker.sock", env.Home + "/.docker/desktop/docker.sock",
		env.RuntimeDir + "/podman/podman.sock", "/run/podman/podman.sock",
	}
	e2e.Equal(t, "the sockets of root and Docker are the first", want, all)
	// Omit the first and the last socket: an engine may listen on them on this machine.
	private := all[1 : len(all)-1]
	find := func() string {
		at, err := dockerengine.FirstSocket(private)
		if err != nil {
			return err.Error()
		}
		return at.Host
	}
	_, err := dockerengine.FirstSocket(private)
	e2e.Equal(t, "the error names all sockets that do not exist", "no container engine found: none of "+strings.Join(private, ", ")+" is a socket", fmt.Sprint(err))
	e2e.Has(t, "the hint names the variable for other sockets", string(hint.Of(err)), "DOCKER_HOST")
	podman, desktop, rootless := env.RuntimeDir+"/podman/podman.sock", env.Home+"/.docker/run/docker.sock", env.RuntimeDir+"/docker.sock"
	listen(t, podman, false)
	e2e.Equal(t, "the only socket is used", "unix://"+podman, find())
	listen(t, desktop, true)
	e2e.Equal(t, "the socket with a listener is used", "unix://"+podman, find())
	listen(t, rootless, false)
	e2e.Equal(t, "the first socket with a listener is used", "unix://"+rootless, find())
	for _, path := range []string{podman, rootless} {
		e2e.NoError(t, os.Remove(path))
	}
	write(t, "not a socket", podman)
	e2e.Equal(t, "a socket without a listener is the last choice", "unix://"+desktop, find())
}
