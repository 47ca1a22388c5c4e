// Package rootfs unpacks the layers of an untrusted image into a root file system, which all
// processes that run the image share. No file is written outside of the root, and the size,
// the number of entries and the depth of a root are limited.
//
// A store is a directory that processes share:
//
//	DIR/roots/sha256/HEX/rootfs    a complete root
//	DIR/roots/sha256/HEX/partial   an incomplete root
//
// HEX is a digest of the diff IDs of the layers and the owner of the files. The directory
// HEX is locked: a process that uses the root has a shared lock, and a process that creates
// or removes it has an exclusive lock. The kernel releases the lock when the process ends.
package rootfs
