// Package runtimeimage is where the image that runs a function comes from: Go
// source that is compiled here, a directory that is laid over another image, a
// file, an OCI image layout, a registry, or a Docker engine.
package runtimeimage
