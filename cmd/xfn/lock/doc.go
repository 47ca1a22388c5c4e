// Package lock is the command `xfn lock`, and the flags by which other commands
// take what it locked.
package lock
