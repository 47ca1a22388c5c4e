// Package local contains what all runtimes share that start functions on this machine:
// options, a private directory with a socket for the function, and errors that say how a
// function ended.
package local
