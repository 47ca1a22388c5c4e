// Package sandboxtest skips tests where the system forbids sandboxes, and runs
// programs in an environment that forbids them.
package sandboxtest
