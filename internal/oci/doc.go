// Package oci assembles OCI images from the exact bytes of a manifest and a config. Layers
// are read in place, and verified while they are read. The functions of
// go-containerregistry would change the bytes of a manifest or config, or buffer layers.
package oci
