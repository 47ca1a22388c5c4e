// Command function-example is a Crossplane composition function.
package main

import (
	"github.com/alecthomas/kong"

	"github.com/crossplane/function-sdk-go"
)

// CLI is the command line. Crossplane and its tools rely on these flag names.
type CLI struct {
	Debug bool `short:"d" help:"Log debug messages too."`

	Network            string `default:"tcp" help:"Network to listen on: tcp or unix."`
	Address            string `default:":9443" help:"Address to listen on."`
	TLSCertsDir        string `name:"tls-certs-dir" env:"TLS_SERVER_CERTS_DIR" help:"Folder with tls.crt, tls.key and the ca.crt that clients are checked against."`
	Insecure           bool   `help:"Serve without mTLS. For development only."`
	MaxRecvMessageSize int    `default:"4" help:"Largest request to accept, in MiB."`
	MetricsAddress     string `default:":8080" help:"Address to serve Prometheus metrics on. Not served if empty, and with --insecure."`
}

// Run serves the function until the process is stopped.
func (c *CLI) Run() error {
	log, err := function.NewLogger(c.Debug)
	if err != nil {
		return err
	}
	// Crossplane declares port 8080 for metrics in the function's Deployment. On a
	// developer's machine other programs need the port.
	metrics := c.MetricsAddress
	if c.Insecure {
		metrics = ""
	}
	return function.Serve(&Function{log: log},
		function.Listen(c.Network, c.Address),
		function.MTLSCertificates(c.TLSCertsDir),
		function.Insecure(c.Insecure),
		function.MaxRecvMessageSize(c.MaxRecvMessageSize*1024*1024),
		function.WithMetricsServer(metrics))
}

func main() {
	ctx := kong.Parse(&CLI{}, kong.Description("A Crossplane composition function."))
	ctx.FatalIfErrorf(ctx.Run())
}
