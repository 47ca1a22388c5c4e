// Command function-example is a Crossplane composition function.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/crossplane/function-sdk-go"
)

// Crossplane and its tools rely on the names of these flags.
func main() {
	network := flag.String("network", "tcp", "network to listen on: tcp or unix")
	address := flag.String("address", ":9443", "address to listen on")
	certs := flag.String("tls-certs-dir", os.Getenv("TLS_SERVER_CERTS_DIR"), "folder with tls.crt, tls.key and ca.crt")
	insecure := flag.Bool("insecure", false, "serve without mTLS, for development only")
	flag.Parse()
	metrics := ":8080"
	if *insecure {
		metrics = "" // On a developer's machine, other programs need the port.
	}
	err := function.Serve(&Function{},
		function.Listen(*network, *address),
		function.MTLSCertificates(*certs),
		function.Insecure(*insecure),
		function.WithMetricsServer(metrics))
	if err != nil {
		log.Fatal(err)
	}
}
