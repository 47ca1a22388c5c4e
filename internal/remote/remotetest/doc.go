// Package remotetest has what the tests of images need: images and keys, registries with
// credentials, TLS or faults, and the certificate authority and the transparency log of
// Sigstore, with the APIs of Fulcio and Rekor.
package remotetest
