// Package registry is the embedded OCI registry: go-containerregistry's handler
// behind one that keeps blobs and manifests in a directory. It is for laptops,
// tests and CI, and knows no users.
//
// In the directory, blobs/ALGORITHM/HEX are the blobs, each there whole or not
// at all; uploads/ holds what is still arriving, and is emptied at start;
// manifests.jsonl is the journal of what was done to manifests, one line each,
// which is done again at start; and registry.lock is locked by the registry
// that uses the directory. A process that is killed loses nothing that it
// confirmed.
package registry
