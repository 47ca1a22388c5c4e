// Package push uploads packages to OCI registries, copies them between registries,
// and signs them. It uploads only the blobs that a registry lacks, and writes tags
// last: a reader of a tag gets the previous package or the complete new one.
package push
