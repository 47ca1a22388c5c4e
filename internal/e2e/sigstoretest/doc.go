// Package sigstoretest serves a transparency log with the API of Rekor, and a certificate
// authority with the API of Fulcio, for tests.
package sigstoretest
