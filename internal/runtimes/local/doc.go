// Package local contains what all runtimes on this machine share: options, a private
// directory with a socket for the function, and errors that say how it ended.
package local
