// Package signature signs images with a key and checks such signatures, in the
// format of cosign (github.com/sigstore/cosign, specs/SIGNATURE_SPEC.md): what
// is signed is a simple signing document (containers/image,
// containers-signature.5) that names the digest of an image or index, and the
// signatures of a digest are the layers of an image that a tag of the same
// repository, named after the digest, points at.
//
// It takes keys as bytes and images as values: it opens no file and reaches no
// registry by itself. There is no certificate, no timestamp and no transparency
// log: who has the key is trusted, for as long as the key is.
package signature
