// Command function-guardrails is a composition function that adds labels,
// resources and a NetworkPolicy to every workload of the platform.
package main

import (
	"github.com/alecthomas/kong"

	"github.com/crossplane/function-sdk-go"
)

// CLI is the command line. Crossplane and its tools rely on these flag names.
type CLI struct {
	Debug       bool   `short:"d" help:"Log debug messages too."`
	Network     string `default:"tcp" help:"Network to listen on: tcp or unix."`
	Address     string `default:":9443" help:"Address to listen on."`
	TLSCertsDir string `name:"tls-certs-dir" env:"TLS_SERVER_CERTS_DIR" help:"Folder with tls.crt, tls.key and the ca.crt that clients are checked against."`
	Insecure    bool   `help:"Serve without mTLS and metrics. For development only."`
}

// Run serves the function until the process is stopped.
func (c *CLI) Run() error {
	log, err := function.NewLogger(c.Debug)
	if err != nil {
		return err
	}
	// Crossplane declares port 8080 for metrics in the function's Deployment. On a
	// developer's machine other programs need the port.
	metrics := ":8080"
	if c.Insecure {
		metrics = ""
	}
	return function.Serve(&Function{log: log},
		function.Listen(c.Network, c.Address),
		function.MTLSCertificates(c.TLSCertsDir),
		function.Insecure(c.Insecure),
		function.WithMetricsServer(metrics))
}

func main() {
	ctx := kong.Parse(&CLI{}, kong.Description("Labels, resources and a NetworkPolicy for every workload."))
	ctx.FatalIfErrorf(ctx.Run())
}
