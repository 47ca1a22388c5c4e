// Package remotetest provides registries for tests: Docker's, the embedded one, and handlers
// that require credentials, use TLS or inject faults.
package remotetest
