// Package gobuild compiles a Go main package with the user's own go command,
// so that the same source gives the same bytes in any directory.
package gobuild
