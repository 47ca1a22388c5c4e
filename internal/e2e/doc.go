// Package e2e builds xfn for tests and defines the timeout of waits in tests. Its own tests run
// xfn as users do: scripts of commands, and golden cases of the crossplane CLI.
package e2e
