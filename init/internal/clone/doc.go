// Package clone reads one commit of a git repository, local or remote, without
// a git binary and without writing anything to disk.
package clone
