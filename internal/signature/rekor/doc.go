// Package rekor adds signatures to a Rekor transparency log (github.com/sigstore/rekor,
// API version 1), and verifies the log's proofs: the signed entry timestamp, the inclusion
// proof (RFC 6962) and the checkpoint. A Bundle contains what verifiers need offline.
package rekor
