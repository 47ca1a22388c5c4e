// Package registry is the embedded OCI registry: a handler of the OCI distribution spec
// v1.1 that stores blobs and manifests in a directory, for laptops, tests and CI. Users,
// if any, come from an htpasswd file.
//
// It implements the whole spec, except that blobs are never deleted. Where the spec leaves
// a choice, it is as strict as public registries, so that errors show here: it refuses an
// image with missing blobs and an index with missing manifests.
//
// The directory has these files: blobs/ALGORITHM/HEX are complete blobs. uploads/ has
// unfinished uploads and is emptied at start. manifests.jsonl is the journal of changes,
// one JSON line each, which is replayed at start. registry.lock is locked by the registry
// that uses the directory. A killed process loses no change that it confirmed.
package registry
