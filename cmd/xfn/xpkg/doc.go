// Package xpkg is the command group `xfn xpkg`.
package xpkg
