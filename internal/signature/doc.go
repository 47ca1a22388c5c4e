// Package signature signs images with a key and verifies signatures, in the format of
// cosign (github.com/sigstore/cosign, specs/SIGNATURE_SPEC.md). The signed bytes are a
// simple signing document (containers/image, containers-signature.5) with the digest of
// an image or index. The signatures of a digest are the layers of an image, at a tag of
// the same repository that is named after the digest.
//
// The package opens no files. A signature by a trusted key is valid forever. An Identity
// verifies signatures with certificates, and the time at which a transparency log added them.
//
// A Log adds signatures to a Rekor transparency log (github.com/sigstore/rekor, API version 1).
// A LogKey verifies the log's proofs: the signed entry timestamp, the inclusion proof (RFC 6962)
// and the checkpoint. An Authority gets certificates for keys from Fulcio
// (github.com/sigstore/fulcio, API version 2), for the identity in an OIDC token. Nothing else
// in the package connects to a server.
package signature
