// Package xpkg reads and writes Crossplane packages. Read and Build turn a directory into
// an image or an index of images, WriteFile writes an .xpkg file, and Open reads one. Lint
// checks a package that is already built. The package uses no network.
//
// A package is an OCI image with one layer that is annotated "io.crossplane.xpkg:
// base". This layer has the file package.yaml: a stream of YAML documents with the
// package metadata and the objects that the package delivers. The package of a
// function or a provider is also the image that runs it.
package xpkg
