// Package signature signs images with a key and verifies signatures, in the format of
// cosign (github.com/sigstore/cosign, specs/SIGNATURE_SPEC.md). The signed bytes are a
// simple signing document (containers/image, containers-signature.5) with the digest of
// an image or index. The signatures of a digest are the layers of an image, at a tag of
// the same repository that is named after the digest.
//
// The package opens no files and connects to no server. A signature by a trusted key is
// valid forever. An Identity verifies signatures with certificates, and the time at which a
// transparency log added them. Package rekor adds signatures to transparency logs, and
// package fulcio gets certificates for keys.
package signature
