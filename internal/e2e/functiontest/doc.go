// Package functiontest holds functions to test with: one that answers exactly
// what its input says, a recorder of calls, and a function that runs as a
// child process and behaves as badly as a test wants.
package functiontest
