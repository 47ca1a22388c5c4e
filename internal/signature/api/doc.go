// Package api sends small requests to the servers of Sigstore.
package api
