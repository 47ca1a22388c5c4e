// Package sandboxtest skips tests if the system forbids sandboxes, and runs programs in
// an environment that forbids sandboxes.
package sandboxtest
