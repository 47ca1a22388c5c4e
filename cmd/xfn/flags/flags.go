package flags

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

// Cache is the flag for the directory of the cache.
type Cache struct {
	CacheDir string `more:"" env:"XFN_CACHE_DIR,CROSSPLANE_XPKG_CACHE" empty:"" placeholder:"DIR" help:"The directory of the cache. Default: xfn in the user's cache directory."`
}

// Path returns the directory.
func (c Cache) Path() (string, error) {
	if c.CacheDir != "" {
		dir, err := filepath.Abs(c.CacheDir)
		if err != nil {
			return "", fmt.Errorf("finding the cache %q: %w", c.CacheDir, err)
		}
		return dir, hint.Wrap(CheckDir("cache-dir", dir), "name a directory, which may be new, with --cache-dir or XFN_CACHE_DIR")
	}
	user, err := os.UserCacheDir()
	if err == nil && !filepath.IsAbs(user) {
		err = fmt.Errorf("%q is not an absolute path", user) // HOME is relative.
	}
	if err != nil {
		return "", hint.Wrap(fmt.Errorf("finding the user's cache directory: %w", err), "set a directory with XFN_CACHE_DIR")
	}
	return filepath.Join(user, "xfn"), nil
}

// Open opens the cache. The caller closes it.
func (c Cache) Open() (*image.Store, error) {
	dir, err := c.Path()
	if err != nil {
		return nil, err
	}
	return image.Open(dir)
}

// OpenExisting opens the cache. It returns nil if there is no cache, or if the cache cannot be
// opened.
func (c Cache) OpenExisting() *image.Store {
	dir, err := c.Path()
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil
	}
	store, _ := image.Open(dir)
	return store
}

// A FunctionCache is a Cache for commands that look up the inputs of functions in it, and fetch
// nothing.
type FunctionCache struct {
	XfnCacheDir string `hidden:"" env:"XFN_CACHE_DIR,CROSSPLANE_XPKG_CACHE"`
}

// Cache returns the cache.
func (c FunctionCache) Cache() Cache { return Cache{c.XfnCacheDir} }

// Inputs returns the inputs of functions that sources name: package metadata, package files,
// and folders with CRDs. It reads packages in the cache, and ignores what it cannot read, because
// other rules report that.
func (c Cache) Inputs(ctx context.Context, o inspect.CRDOptions, sources ...string) (_ composition.Inputs, err error) {
	if o.Cache = c.OpenExisting(); o.Cache != nil {
		defer func() { err = errors.Join(err, o.Cache.Close()) }()
	}
	o.Offline, o.Follow, o.Faulty = true, inspect.FollowConfigurations, func(error) {}
	var inputs composition.Inputs
	for _, source := range sources {
		all, err := inspect.CollectCRDs(ctx, []string{source}, o)
		if err == nil {
			inputs = append(inputs, inspect.FunctionInputs(all)...)
		}
	}
	return inputs, ctx.Err()
}

// Artifacts returns the configuration with which languages fetch packages into the cache.
// Without a cache, languages that need packages return an error.
func (c Cache) Artifacts(client *remote.Client, offline bool, index Index) language.Artifacts {
	dir, err := c.Path()
	if err != nil {
		dir = ""
	}
	return language.Artifacts{Client: &http.Client{Transport: client}, Dir: dir, Offline: offline, Index: index.IndexURL}
}

// Index is the flag for the index of packages of Python.
type Index struct {
	IndexURL string `more:"" name:"index-url" placeholder:"URL" help:"Package index for wheels of Python, with the API of PyPI. Default: the URLs in the lock file."`
}

// CheckDir returns an error if path, the value of a flag, is a file. The path may be empty.
func CheckDir(flag, path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil
	}
	return &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("--%s: %q is a file, expected a directory", flag, path), "name a directory, which may be new")}
}

// Profile returns the profile of the value of --crossplane-version.
func Profile(version string) (render.Profile, error) {
	profile, err := render.ForCrossplane(version)
	return profile, hint.Wrap(terminal.Wrap(err, "--crossplane-version"), "write a release, such as --crossplane-version v2.3 or --crossplane-version v2.3.1")
}

// Registries are the flags for registries.
type Registries struct {
	Registry string `more:"" env:"XFN_REGISTRY" placeholder:"HOST" help:"The registry of references that do not name one."`
	Access
}

// Access are the flags for connections to registries.
type Access struct {
	InsecureSkipTLSVerify bool         `more:"" name:"insecure-skip-tls-verify" help:"Accept any TLS certificate of a registry."`
	CAFile                certificates `more:"" name:"ca-file" placeholder:"FILE" help:"Trust the CAs in this PEM file in addition to the system's CAs."`
	PlainHTTP             bool         `more:"" name:"plain-http" help:"Connect to registries by plain HTTP. Without it, loopback and private addresses are tried by HTTPS first, then by HTTP."`
}

// Client returns a client with the options of the flags.
func (a Access) Client(p terminal.Program) *remote.Client { return remote.New(a.Options(p)) }

// Options returns the options of the flags, with the credentials of the user's environment.
func (a Access) Options(p terminal.Program) remote.Options {
	sources := credentials.FromEnviron(os.Environ())
	sources.Others = sync.OnceValue(func() []credentials.Other { return clouds(os.Environ(), productName) })
	return remote.Options{
		Keychain: credentials.New(sources), Progress: p.Detail, UserAgent: p.UserAgent(),
		InsecureSkipTLSVerify: a.InsecureSkipTLSVerify, RootCAs: a.CAFile.Pool, PlainHTTP: a.PlainHTTP,
		Getenv: os.Getenv,
	}
}

// IsGiven reports whether the command line has a flag.
func IsGiven(kctx *kong.Context, flag string) bool {
	return slices.ContainsFunc(kctx.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == flag })
}

// CheckRegistry returns an error if --registry names another registry than the reference has, and
// so has no effect. next is the hint.
func (f Registries) CheckRegistry(kctx *kong.Context, ref name.Tag, next string) error {
	// NewRegistry knows the other names of a registry, such as docker.io.
	if r, err := name.NewRegistry(f.Registry); !IsGiven(kctx, "registry") || err == nil && r.RegistryStr() == ref.RegistryStr() {
		return nil
	}
	err := fmt.Errorf("--registry %s has no effect: the reference %q names the registry %s", f.Registry, ref, ref.RegistryStr())
	return &terminal.UsageError{Err: hint.Wrap(err, next)}
}

// Target parses the reference of a tag with remote.ParseTag.
func (f Registries) Target(s string) (name.Tag, error) { return remote.ParseTag(s, f.Registry) }

// Reference parses the reference of an image with remote.ParseReference.
func (f Registries) Reference(s string) (name.Reference, error) {
	return remote.ParseReference(s, f.Registry)
}

// certificates are the CAs of the system and of a file.
type certificates struct{ Pool *x509.CertPool }

// UnmarshalText reads the file.
func (c *certificates) UnmarshalText(path []byte) error {
	pem, err := os.ReadFile(string(path))
	if err != nil {
		return hint.Wrap(fmt.Errorf("reading CA file %q: %w", path, fsx.Cause(err)), "name the file of a certificate in PEM")
	}
	if c.Pool, err = x509.SystemCertPool(); err != nil {
		return fmt.Errorf("reading the certificates of the system: %w", err)
	}
	if !c.Pool.AppendCertsFromPEM(pem) {
		return hint.Wrap(fmt.Errorf("reading CA file %q: it has no certificate in PEM", path), "name the file of a certificate, which begins with -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// Patience are the flags for retries and timeouts.
type Patience struct {
	Retry          int           `more:"" default:"4" placeholder:"N" help:"How often to retry after an error of the registry or the connection. Default: ${default}."`
	RetryDelay     time.Duration `more:"" default:"1s" placeholder:"TIME" help:"Pause before the first retry. Each further pause is three times as long. Default: ${default}."`
	ConnectTimeout time.Duration `more:"" default:"10s" placeholder:"TIME" help:"Timeout of establishing a connection. Default: ${default}."`
	IdleTimeout    time.Duration `more:"" default:"5m" placeholder:"TIME" help:"How long a connection may transfer no bytes. The answer to a request that only reads must begin within a fifth of this time, or within a minute if that is longer. Default: ${default}."`
	MinRate        int64         `more:"" default:"1000" placeholder:"BYTES" help:"Fail when a registry sends fewer than BYTES per second over 30 seconds; 0 means no limit. Default: ${default}."`
}

// Validate checks the flags. Kong calls it.
func (p Patience) Validate() error {
	if p.Retry < 0 || p.RetryDelay < 0 || p.ConnectTimeout <= 0 || p.IdleTimeout <= 0 || p.MinRate < 0 {
		return errors.New("--retry, --retry-delay and --min-rate must not be negative, and timeouts must be positive")
	}
	return nil
}

// PatientClient returns a client with retries and timeouts of the flags.
func (f Registries) PatientClient(p terminal.Program, t Patience) *remote.Client {
	o := f.Options(p)
	o.Tries, o.RetryWait, o.ConnectTimeout, o.IdleTimeout = t.Retry+1, t.RetryDelay, t.ConnectTimeout, t.IdleTimeout
	if o.MinRate = t.MinRate; o.MinRate == 0 {
		o.MinRate = -1
	}
	return remote.New(o)
}

// Services returns the flags for signature servers. They always need valid certificates:
// --insecure-skip-tls-verify and --plain-http are only for registries.
func (f Registries) Services() Registries {
	f.InsecureSkipTLSVerify, f.PlainHTTP = false, false
	return f
}

// Sources are the flags for the inputs of a render, except its arguments.
type Sources struct {
	XRD               string   `once:"" name:"xrd" empty:"" placeholder:"FILE" help:"The definition of the composite resource. It sets defaults and the scope, and validates the resource."`
	ObservedResources []string `short:"o" sep:"none" empty:"" placeholder:"PATH" help:"Existing composed resources. A file or folder. Repeatable."`
	ExtraResources    []string `more:"" sep:"none" empty:"" placeholder:"PATH" help:"File or folder of resources for functions that request extra resources. Repeatable."`
	Requirements
}

// Requirements are the flags for what functions may require, and for their context.
type Requirements struct {
	RequiredResources   []string  `short:"e" sep:"none" empty:"" placeholder:"PATH" help:"Resources that functions may require. A file or folder. Repeatable."`
	RequiredSchemas     []string  `more:"" short:"s" sep:"none" empty:"" placeholder:"PATH" help:"JSON file or folder of OpenAPI schemas that functions may require. Repeatable."`
	FunctionCredentials []string  `more:"" sep:"none" empty:"" placeholder:"PATH" help:"File or folder of Secrets with credentials of functions. Repeatable."`
	ContextFiles        keyValues `more:"" placeholder:"KEY=FILE" help:"Add YAML or JSON from a file to the context of the functions. Repeatable."`
	ContextValues       keyValues `more:"" placeholder:"KEY=VALUE" help:"Add YAML or JSON to the functions' context. Repeatable."`
}

// Inputs returns the inputs of a render.
func (s Sources) Inputs() session.Inputs {
	in := s.Requirements.Inputs()
	in.XRD, in.Observed, in.Extra = s.XRD, s.ObservedResources, SplitFiles(s.ExtraResources)
	return in
}

// Inputs returns the inputs of a render.
func (r Requirements) Inputs() session.Inputs {
	return session.Inputs{
		Required: SplitFiles(r.RequiredResources), Schemas: r.RequiredSchemas, Credentials: r.FunctionCredentials,
		ContextFiles: r.ContextFiles, ContextValues: r.ContextValues,
	}
}

// CheckStdin returns an error if several paths are standard input.
func CheckStdin(paths ...string) error {
	if i := slices.Index(paths, manifest.Stdin); i >= 0 && slices.Contains(paths[i+1:], manifest.Stdin) {
		return errors.New("standard input can only be read once, but - stands for several files")
	}
	return nil
}
