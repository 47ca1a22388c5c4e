package function

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/hint"
)

// ServeCmd serves a builtin.
type ServeCmd struct {
	Name string `arg:"" help:"Name of a builtin; the prefix function- is optional."`

	Address        string `default:":9443" placeholder:"HOST:PORT" help:"Address to listen on, or unix:///PATH; with port 0 the system chooses one. Default: ${default}."`
	Insecure       bool   `help:"Serve every client, in plaintext."`
	TLSCertsDir    string `name:"tls-certs-dir" env:"TLS_SERVER_CERTS_DIR" placeholder:"DIR" help:"Serve with mutual TLS: a folder with tls.crt, tls.key, and ca.crt for the clients' certificates."`
	MaxMessageSize *int   `limits:"1 2047 MiB" placeholder:"MIB" aliases:"max-recv-message-size" help:"Maximum size of a request, in MiB. Default: 64."`
	builtinFlags
	processFlags
}

// Help is shown by --help.
func (ServeCmd) Help() string {
	return `The builtin is served like a composition function in a Pod: with v1, v1beta1, the gRPC health protocol and gRPC reflection. Either --insecure or --tls-certs-dir is required; --insecure takes precedence. Ctrl-C stops the server. The settings are the flags of the real function. Its environment variables (FUNCTION_GO_TEMPLATING_…) apply, too, and flags take precedence.

Examples:

    xfn function serve auto-ready --insecure --address localhost:9443
    xfn function serve patch-and-transform --tls-certs-dir certs
    xfn function serve go-templating --insecure --default-source templates
`
}

// Run serves until it is interrupted. It prints its address as a note.
func (c *ServeCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	b, err := find(c.Name)
	if err != nil {
		return err
	}
	opts, err := c.options(b)
	if err != nil {
		return err
	}
	options := c.builtinFlags.options(term)
	options.Package = c.pkg(b)
	if options.Settings, err = c.settings(b, options.Package); err != nil {
		return &terminal.UsageError{Err: err}
	}
	runner, err := b.Configured(options)
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	listener, err := flags.ListenAt(ctx, c.Address)
	if err != nil {
		return err
	}
	term.Note(fmt.Sprintf("serving %s on %s", b.Name, flags.DialTarget(listener.Addr())))
	return grpc.Serve(ctx, listener, b.Name, runner, opts)
}

func (c *ServeCmd) options(b builtin.Builtin) (opts grpc.ServeOptions, err error) {
	size, err := c.messageSize(b)
	if err != nil {
		return opts, &terminal.UsageError{Err: err}
	}
	opts.MaxMessageSize = size << 20
	if c.Insecure {
		return opts, nil
	}
	if c.TLSCertsDir == "" {
		return opts, &terminal.UsageError{Err: errors.New("expected --tls-certs-dir DIR (or TLS_SERVER_CERTS_DIR), or --insecure")}
	}
	if opts.Certificates, err = grpc.LoadCertificates(c.TLSCertsDir); err != nil {
		return opts, err
	}
	_, err = flags.ServerCertificate(c.TLSCertsDir)
	return opts, err
}

type processFlags struct {
	Tag            string  `more:"" group:"Settings:" placeholder:"VERSION" help:"Behave like this version of the real function, such as v0.12.2 or main. Default: the newest release."`
	DefaultSource  *string `more:"" group:"Settings:" placeholder:"DIR" help:"go-templating: folder with the templates of an input without a source (or FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE)."`
	DefaultOptions *string `more:"" group:"Settings:" placeholder:"LIST" help:"go-templating: options of an input without options, separated by commas (or FUNCTION_GO_TEMPLATING_DEFAULT_OPTIONS)."`
	TTL            *string `more:"" group:"Settings:" name:"ttl" placeholder:"DURATION" help:"auto-ready, go-templating: time to live of responses, unless the input sets it. Default: 1m."`
	FeatureGates   *string `more:"" group:"Settings:" placeholder:"LIST" help:"auto-ready: feature gates, such as CELHealthcheckCustomizations=true, separated by commas."`
}

// pkg returns the package of the real function in the version of --tag.
func (f processFlags) pkg(b builtin.Builtin) string {
	if f.Tag == "" {
		return b.Name
	}
	return b.Name + ":" + f.Tag
}

// settings returns the settings of b in the flags and in the environment variables of the real
// function. pkg is the package of the real function. Its version does not read variables that
// are newer.
func (f processFlags) settings(b builtin.Builtin, pkg string) (builtin.Settings, error) {
	all := builtin.Settings{}
	for _, flag := range []struct {
		key   string
		value *string
	}{{"default-source", f.DefaultSource}, {"default-options", f.DefaultOptions}, {"ttl", f.TTL}, {"feature-gates", f.FeatureGates}} {
		if flag.value == nil {
			continue
		}
		if err := all.Set(b, flag.key, *flag.value); err != nil {
			return nil, fmt.Errorf("reading --%s: %w", flag.key, err)
		}
		if i := slices.IndexFunc(b.Settings, func(s builtin.Setting) bool { return s.Key == flag.key }); f.Tag == "" && b.Settings[i].Since == gotemplating.Unreleased {
			return nil, hint.Wrap(fmt.Errorf("no release of %s has --%s", b.Name, flag.key), "add --tag main, which behaves like the main branch")
		}
	}
	for _, s := range b.Settings {
		value := os.Getenv(s.Variable)
		if _, ok := all[b.Option(s.Key)]; ok || value == "" || !f.reads(s, pkg) {
			continue
		}
		if err := all.Set(b, s.Key, value); err != nil {
			return nil, fmt.Errorf("reading %s: %w", s.Variable, err)
		}
	}
	return all, nil
}

// reads reports whether the real function in the version of --tag reads the variable of a setting.
// pkg is its package.
func (f processFlags) reads(s builtin.Setting, pkg string) bool {
	return s.In(pkg) && (f.Tag != "" || s.Since != gotemplating.Unreleased)
}

// sizeVariable is the real function's variable for --max-recv-message-size. Only its main branch
// has it.
const sizeVariable = "FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE"

// messageSize returns the maximum size of a request to b in MiB.
func (c *ServeCmd) messageSize(b builtin.Builtin) (int, error) {
	text := os.Getenv(sizeVariable)
	switch {
	case c.MaxMessageSize != nil:
		return *c.MaxMessageSize, nil
	case text == "" || b.Name != "function-go-templating" || !c.reads(builtin.Setting{Since: gotemplating.Unreleased}, c.pkg(b)):
		return defaultMessageSize, nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size <= 0 || size >= 2048 {
		return 0, fmt.Errorf("%s must be between 1 and 2047 MiB, got %q", sizeVariable, text)
	}
	return size, nil
}

// defaultMessageSize is in MiB.
const defaultMessageSize = 64
