// Package rootfs unpacks the layers of an untrusted image into a root file
// system, which all processes that run the image share. No entry leads out of
// the root, and its size, its entries and their depth are limited.
//
// A store is a directory that processes share:
//
//	DIR/roots/sha256/HEX/rootfs    a complete root
//	DIR/roots/sha256/HEX/partial   an incomplete root
//
// HEX is a digest of the contents of the layers and the owner of the files. Its
// directory is locked: shared by the users of the root, exclusively by a
// process that creates or removes it. The kernel releases a lock when its
// process ends.
package rootfs
