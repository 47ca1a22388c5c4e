// Package runtimeimage gets the image that runs a function: from Go source, a directory on
// a base image, a file, an OCI image layout, a registry, or a Docker engine.
package runtimeimage
