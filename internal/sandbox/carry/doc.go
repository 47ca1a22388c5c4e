// Package carry carries the connections of one socket to another address: of a
// unix socket outside of a sandbox to a port inside.
package carry
