// Package render has the commands `xfn render` and `xfn diff`.
package render
