// Package runtimeimage is where the image that runs a function comes from: Go
// source that is compiled here, a file, or a Docker engine.
package runtimeimage
