// Package fulcio gets certificates for signing keys from a Fulcio certificate authority
// (github.com/sigstore/fulcio, API version 2), for the identity in an OIDC token.
package fulcio
