// Package functiontest has functions for tests: one that returns the response in its
// input, and one that runs in a child process with a chosen behavior. It also compares
// functions with recorded responses, skips tests if the system forbids sandboxes, and runs
// programs where it does.
package functiontest
