// Package local contains what all runtimes on this machine share: a private
// directory with a socket for the function, a bounded record of its output, and
// errors that say how it ended.
package local
