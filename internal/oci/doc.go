// Package oci puts OCI images together from their parts: the exact bytes of a
// manifest and a config, and layers that are read from where they lie and
// checked as they are read. It is where go-containerregistry's own ways to
// make an image would change its bytes or hold it in memory.
package oci
