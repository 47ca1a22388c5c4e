package dockerengine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// defaultContext is the name of the Docker context for the default sockets. The Docker
// configuration has no files for it.
const defaultContext = "default"

// maxConfig limits the size of a Docker configuration file in bytes.
const maxConfig = 4 << 20

// context returns the name of the selected Docker context, and the environment variable
// or file that selects it.
func (env Environment) context() (name, from string, err error) {
	if env.Context != "" {
		return env.Context, "DOCKER_CONTEXT", nil
	}
	if env.Config == "" {
		return "", "", nil
	}
	path := filepath.Join(env.Config, "config.json")
	var config struct{ CurrentContext string }
	if err := readJSON(path, &config); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	return config.CurrentContext, path, nil
}

// contextEndpoint returns the endpoint of the Docker context with this name. Docker
// stores the files of a context in folders that are named by the SHA-256 digest of the
// context's name.
func (env Environment) contextEndpoint(name, from string) (Endpoint, error) {
	digest := sha256.Sum256([]byte(name))
	folder := hex.EncodeToString(digest[:])
	path := filepath.Join(env.Config, "contexts", "meta", folder, "meta.json")
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	err := readJSON(path, &meta)
	if errors.Is(err, os.ErrNotExist) {
		return Endpoint{}, hint.Wrap(fmt.Errorf("%s selects Docker context %q, which does not exist", from, name), "list the contexts with docker context ls")
	}
	if err != nil {
		return Endpoint{}, err
	}
	docker := meta.Endpoints["docker"]
	if err := checkHost(docker.Host); err != nil {
		return Endpoint{}, fmt.Errorf("reading Docker context %q: %w", name, err)
	}
	e := Endpoint{Host: docker.Host, From: fmt.Sprintf("Docker context %q", name)}
	t := tlsIn(filepath.Join(env.Config, "contexts", "tls", folder, "docker"), docker.SkipTLSVerify)
	if docker.SkipTLSVerify || t.CA != "" || t.Cert != "" {
		e.TLS = t
	}
	return e, nil
}

func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxConfig)).Decode(into); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	return nil
}
