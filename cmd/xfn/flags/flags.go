package flags

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// Registries say which registries to reach, and how.
type Registries struct {
	Registry string `env:"XFN_REGISTRY" placeholder:"HOST" help:"The registry of references that name none."`
	Access
}

// Access says how to reach registries.
type Access struct {
	InsecureSkipTLSVerify bool         `name:"insecure-skip-tls-verify" help:"Accept any TLS certificate of a registry."`
	CAFile                certificates `name:"ca-file" placeholder:"FILE" help:"Trust the CAs in this PEM file besides those that this machine trusts."`
	PlainHTTP             bool         `name:"plain-http" help:"Speak plain HTTP with registries. Without it, loopback and private addresses are tried by HTTPS first, then by HTTP."`
}

// Client returns a client that asks as the flags say.
func (a Access) Client(p terminal.Program) *remote.Client {
	return remote.New(a.Options(p))
}

// Options returns what the flags say to a client, with the credentials of this
// user's environment.
func (a Access) Options(p terminal.Program) remote.Options {
	sources := credentials.FromEnviron(os.Environ())
	sources.Others = clouds(os.Environ(), productName)
	return remote.Options{
		Keychain: credentials.New(sources), Progress: p.Detail, UserAgent: p.UserAgent(),
		InsecureSkipTLSVerify: a.InsecureSkipTLSVerify, RootCAs: a.CAFile.Pool, PlainHTTP: a.PlainHTTP,
	}
}

// Reference reads what can be pulled; errors are those of
// remote.ParseReference.
func (f Registries) Reference(s string) (name.Reference, error) {
	return remote.ParseReference(s, f.Registry)
}

// certificates are those of a file, and those that this machine trusts.
type certificates struct{ Pool *x509.CertPool }

// UnmarshalText reads the file of that name.
func (c *certificates) UnmarshalText(path []byte) error {
	pem, err := os.ReadFile(string(path))
	if err != nil {
		return fmt.Errorf("reading CA file %q: %w", path, fsx.Cause(err))
	}
	if c.Pool, err = x509.SystemCertPool(); err != nil {
		return fmt.Errorf("reading the certificates that this machine trusts: %w", err)
	}
	if !c.Pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("reading CA file %q: it holds no certificate in PEM", path)
	}
	return nil
}

// Patience says how long, and how often, a registry is tried.
type Patience struct {
	Retry          int           `default:"4" placeholder:"N" help:"How often to try again what a busy registry or a broken connection stopped. Default: ${default}."`
	RetryDelay     time.Duration `default:"1s" placeholder:"TIME" help:"Pause before the first retry; each further one is three times as long. Default: ${default}."`
	ConnectTimeout time.Duration `default:"10s" placeholder:"TIME" help:"How long a connection may take to be made. Default: ${default}."`
	IdleTimeout    time.Duration `default:"5m" placeholder:"TIME" help:"How long the registry may take nothing, and answer nothing. Default: ${default}."`
}

// Validate checks the flags. Kong calls it.
func (p Patience) Validate() error {
	if p.Retry < 0 || p.RetryDelay < 0 || p.ConnectTimeout <= 0 || p.IdleTimeout <= 0 {
		return errors.New("--retry and --retry-delay cannot be negative, and timeouts must be more than nothing")
	}
	return nil
}

// Apply puts what the flags say into the options of a client.
func (p Patience) Apply(o *remote.Options) {
	o.Tries, o.RetryWait, o.ConnectTimeout, o.IdleTimeout = p.Retry+1, p.RetryDelay, p.ConnectTimeout, p.IdleTimeout
}

// PatientClient is Client with this patience.
func (f Registries) PatientClient(p terminal.Program, patience Patience) *remote.Client {
	o := f.Options(p)
	patience.Apply(&o)
	return remote.New(o)
}
