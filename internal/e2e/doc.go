// Package e2e builds xfn for tests, starts their child processes, reads and writes their files, and
// defines the timeout of their waits. Its own tests run xfn as users do: scripts of commands, and
// golden cases of the crossplane CLI.
package e2e
