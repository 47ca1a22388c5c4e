// Package remote contains all access to registries: parsing of references, credentials,
// transport, retries, and errors for users. The packages push and image decide what to read
// and write.
package remote
