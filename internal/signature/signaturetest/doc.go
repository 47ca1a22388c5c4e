// Package signaturetest makes keys for tests.
package signaturetest
