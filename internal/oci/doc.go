// Package oci assembles OCI images from the exact bytes of a manifest and a config,
// and from layers that are read in place and verified while they are read. The
// functions of go-containerregistry would change these bytes or buffer them.
package oci
