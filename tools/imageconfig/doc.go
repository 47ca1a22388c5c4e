// Command imageconfig verifies an image as Crossplane does for an ImageConfig with
// provider Cosign. It calls crossplane-runtime's own validator. Tests compare the
// signatures of xfn with its verdict.
//
// The public keys of the transparency log and the certificate log are in the files that
// SIGSTORE_REKOR_PUBLIC_KEY and SIGSTORE_CT_LOG_PUBLIC_KEY_FILE name. The program exits
// with 0 for a valid image, and with 1 after it has printed why an image is not valid.
package main
