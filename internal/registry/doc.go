// Package registry is the embedded OCI registry: a handler of the OCI
// distribution spec v1.1 that keeps blobs and manifests in a directory. It is
// for laptops, tests and CI, and knows no users.
//
// It does all of the spec but one thing: blobs are never deleted. Where the spec leaves a choice, it is as strict as the
// registries that people push to, so that what is wrong shows here: an image
// whose blobs are not there, or an index whose manifests are not, is refused.
//
// In the directory, blobs/ALGORITHM/HEX are the blobs, each there whole or not
// at all; uploads/ holds what is still arriving, and is emptied at start;
// manifests.jsonl is the journal of what was done to manifests, and of which
// repository has which blobs, one line each, which is done again at start; and registry.lock is locked by the registry
// that uses the directory. A process that is killed loses nothing that it
// confirmed.
package registry
