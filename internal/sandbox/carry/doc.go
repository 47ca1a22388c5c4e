// Package carry forwards the connections of a socket to another address: from a
// unix socket outside of a sandbox to a port inside.
package carry
