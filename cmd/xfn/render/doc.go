// Package render is the command `xfn render`.
package render
