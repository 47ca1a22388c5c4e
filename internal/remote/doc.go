// Package remote contains all registry access: the registry of a reference,
// credentials, transport, retries, and errors for the user. The packages push
// and image decide what to read and write.
package remote
