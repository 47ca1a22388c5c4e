// Package clone reads one commit of a local or remote git repository, without a
// git binary and without writing to disk.
package clone
