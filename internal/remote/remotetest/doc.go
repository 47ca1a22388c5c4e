// Package remotetest has registries for tests: Docker's and the embedded one, and handlers
// that require credentials, use TLS or inject faults.
package remotetest
