// Package apiservertest starts a Kubernetes API server for tests, and sends requests to it.
// Its own tests compare xfn with that server.
package apiservertest
