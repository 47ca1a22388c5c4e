// Package local is what functions have in common that run on this machine: a
// private directory with a socket, output of which the last lines count, and an
// end that explains why a call failed.
package local
