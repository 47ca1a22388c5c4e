package flags

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// Cache is the flag for the directory of the cache.
type Cache struct {
	CacheDir string `env:"XFN_CACHE_DIR" placeholder:"DIR" help:"The directory of the cache. Default: xfn in the user's cache directory."`
}

// Path returns the directory.
func (c Cache) Path() (string, error) {
	if c.CacheDir != "" {
		dir, err := filepath.Abs(c.CacheDir)
		if err != nil {
			return "", fmt.Errorf("finding the cache %q: %w", c.CacheDir, err)
		}
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", hint.Wrap(fmt.Errorf("finding the user's cache directory: %w", err), "set a directory with XFN_CACHE_DIR")
	}
	return filepath.Join(user, "xfn"), nil
}

// Registries are the flags for registries.
type Registries struct {
	Registry string `env:"XFN_REGISTRY" placeholder:"HOST" help:"The registry of references that do not name one."`
	Access
}

// Access are the flags for connections to registries.
type Access struct {
	InsecureSkipTLSVerify bool         `name:"insecure-skip-tls-verify" help:"Accept any TLS certificate of a registry."`
	CAFile                certificates `name:"ca-file" placeholder:"FILE" help:"Trust the CAs in this PEM file in addition to those of the system."`
	PlainHTTP             bool         `name:"plain-http" help:"Connect to registries by plain HTTP. Without it, loopback and private addresses are tried by HTTPS first, then by HTTP."`
}

// Client returns a client with the options of the flags.
func (a Access) Client(p terminal.Program) *remote.Client { return remote.New(a.Options(p)) }

// Options returns the options of the flags, with the credentials of the user's
// environment.
func (a Access) Options(p terminal.Program) remote.Options {
	sources := credentials.FromEnviron(os.Environ())
	sources.Others = clouds(os.Environ(), productName)
	return remote.Options{
		Keychain: credentials.New(sources), Progress: p.Detail, UserAgent: p.UserAgent(),
		InsecureSkipTLSVerify: a.InsecureSkipTLSVerify, RootCAs: a.CAFile.Pool, PlainHTTP: a.PlainHTTP,
	}
}

// Reference parses the reference of an image with remote.ParseReference.
func (f Registries) Reference(s string) (name.Reference, error) {
	return remote.ParseReference(s, f.Registry)
}

// certificates are the CAs of the system and those of a file.
type certificates struct{ Pool *x509.CertPool }

// UnmarshalText reads the file.
func (c *certificates) UnmarshalText(path []byte) error {
	pem, err := os.ReadFile(string(path))
	if err != nil {
		return fmt.Errorf("reading CA file %q: %w", path, fsx.Cause(err))
	}
	if c.Pool, err = x509.SystemCertPool(); err != nil {
		return fmt.Errorf("reading the certificates of the system: %w", err)
	}
	if !c.Pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("reading CA file %q: it has no certificate in PEM", path)
	}
	return nil
}

// Patience are the flags for retries and timeouts.
type Patience struct {
	Retry          int           `default:"4" placeholder:"N" help:"How often to retry after an error of the registry or the connection. Default: ${default}."`
	RetryDelay     time.Duration `default:"1s" placeholder:"TIME" help:"Pause before the first retry. Each further pause is three times as long. Default: ${default}."`
	ConnectTimeout time.Duration `default:"10s" placeholder:"TIME" help:"Timeout of establishing a connection. Default: ${default}."`
	IdleTimeout    time.Duration `default:"5m" placeholder:"TIME" help:"How long a connection may transfer no bytes. Default: ${default}."`
}

// Check checks the values of the flags.
func (p Patience) Check() error {
	if p.Retry < 0 || p.RetryDelay < 0 || p.ConnectTimeout <= 0 || p.IdleTimeout <= 0 {
		return errors.New("--retry and --retry-delay must not be negative, and timeouts must be positive")
	}
	return nil
}

// PatientClient returns a client with retries and timeouts of the flags.
func (f Registries) PatientClient(p terminal.Program, t Patience) *remote.Client {
	o := f.Options(p)
	o.Tries, o.RetryWait, o.ConnectTimeout, o.IdleTimeout = t.Retry+1, t.RetryDelay, t.ConnectTimeout, t.IdleTimeout
	return remote.New(o)
}
