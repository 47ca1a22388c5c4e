package xpkg

import (
	"crypto/x509"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/ioerror"
	"github.com/xfn-dev/xfn/internal/remote"
)

// Cmd is the group.
type Cmd struct {
	Init    InitCmd    `cmd:"" help:"Make the directory of a new package from a template."`
	Build   BuildCmd   `cmd:"" help:"Build a package file."`
	Lint    LintCmd    `cmd:"" help:"Find what is wrong with a package."`
	Push    PushCmd    `cmd:"" help:"Push a package file to a registry."`
	Pull    PullCmd    `cmd:"" help:"Pull a package from a registry into a file."`
	Inspect InspectCmd `cmd:"" help:"Show what a package holds."`
	Extract ExtractCmd `cmd:"" help:"Take package.yaml, examples, a layer or the root file system out of a package."`
	Diff    DiffCmd    `cmd:"" help:"Show what changes from one package to another."`
	GetCRDs GetCRDsCmd `cmd:"" name:"get-crds" help:"Write the CRDs that packages deliver and depend on."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn xpkg init function-hello go -d function-hello
`
}

// registryFlags say how to reach a registry.
type registryFlags struct {
	Registry              string       `env:"XFN_REGISTRY" placeholder:"HOST" help:"The registry of references that name none."`
	InsecureSkipTLSVerify bool         `name:"insecure-skip-tls-verify" help:"Accept any TLS certificate."`
	CAFile                certificates `name:"ca-file" placeholder:"FILE" help:"Trust the CAs in this PEM file besides those that this machine trusts."`
	PlainHTTP             bool         `name:"plain-http" help:"Use HTTP where a registry has no TLS. With loopback and private addresses that is done in any case."`
}

func (f registryFlags) client(p terminal.Program) *remote.Client {
	return remote.New(f.remoteOptions(p))
}

func (f registryFlags) remoteOptions(p terminal.Program) remote.Options {
	return remote.Options{UserAgent: p.UserAgent(), InsecureSkipTLSVerify: f.InsecureSkipTLSVerify, RootCAs: f.CAFile.pool}
}

// parseReference reads what can be pulled.
func (f registryFlags) parseReference(s string) (name.Reference, error) {
	return remote.ParseReference(s, f.Registry, f.scheme()...)
}

func (f registryFlags) scheme() []name.Option {
	if f.PlainHTTP {
		return []name.Option{name.Insecure}
	}
	return nil
}

// certificates are those of a file, and those that this machine trusts.
type certificates struct{ pool *x509.CertPool }

// UnmarshalText reads the file of that name.
func (c *certificates) UnmarshalText(path []byte) error {
	pem, err := os.ReadFile(string(path))
	if err != nil {
		return fmt.Errorf("reading CA file %q: %w", path, ioerror.Cause(err))
	}
	if c.pool, err = x509.SystemCertPool(); err != nil {
		return fmt.Errorf("reading the certificates that this machine trusts: %w", err)
	}
	if !c.pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("reading CA file %q: it holds no certificate in PEM", path)
	}
	return nil
}

// created is the time that a package says it was made: that of
// SOURCE_DATE_EPOCH (reproducible-builds.org), or else the epoch.
func created(sourceDateEpoch string) (time.Time, error) {
	if sourceDateEpoch == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	const year10000 = 253402300800 // RFC 3339 has four digits for a year
	sec, err := strconv.ParseInt(sourceDateEpoch, 10, 64)
	if err != nil || sec < 0 || sec >= year10000 {
		return time.Time{}, &terminal.UsageError{Err: fmt.Errorf("reading SOURCE_DATE_EPOCH %q: expected the seconds since 1970", sourceDateEpoch)}
	}
	return time.Unix(sec, 0).UTC(), nil
}
