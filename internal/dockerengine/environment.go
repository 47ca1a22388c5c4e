package dockerengine

import (
	"path/filepath"
	"strings"
)

// An Environment has the settings of a user's environment for engines. In the
// zero value nothing is set.
type Environment struct {
	// Host is DOCKER_HOST: unix:///PATH, tcp://HOST:PORT, ssh://USER@HOST or
	// npipe:////./pipe/NAME.
	Host string
	// Context is DOCKER_CONTEXT: the name of a context in Config. Host
	// takes precedence.
	Context string
	// APIVersion is DOCKER_API_VERSION. If it is empty, the version is negotiated.
	APIVersion string
	// CertPath is DOCKER_CERT_PATH, a folder with ca.pem, cert.pem and key.pem.
	CertPath string
	// TLS and Verify report whether DOCKER_TLS and DOCKER_TLS_VERIFY are set.
	TLS, Verify bool
	// Config is the folder of the Docker configuration.
	Config string
	// Home and RuntimeDir are the user's home and XDG_RUNTIME_DIR. They
	// contain the sockets of rootless engines.
	Home, RuntimeDir string
}

// FromEnviron returns the settings of environment variables, each as "name=value".
func FromEnviron(environ []string) Environment {
	vars := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	e := Environment{
		Host: vars["DOCKER_HOST"], Context: vars["DOCKER_CONTEXT"], APIVersion: vars["DOCKER_API_VERSION"],
		CertPath: vars["DOCKER_CERT_PATH"], TLS: vars["DOCKER_TLS"] != "", Verify: vars["DOCKER_TLS_VERIFY"] != "",
		Config: vars["DOCKER_CONFIG"], Home: vars["HOME"], RuntimeDir: vars["XDG_RUNTIME_DIR"],
	}
	if e.Home == "" {
		e.Home = vars["USERPROFILE"] // on Windows
	}
	if e.Config == "" && e.Home != "" {
		e.Config = filepath.Join(e.Home, ".docker")
	}
	return e
}
