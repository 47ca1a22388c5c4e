// Package rootfs unpacks the layers of an image into a root file system, which
// all processes that run the image share. It treats the image as hostile: no
// entry leads out of the root, and its size, its entries and their depth are
// limited.
//
// A store is a directory that processes share:
//
//	DIR/roots/sha256/HEX/rootfs    a complete root
//	DIR/roots/sha256/HEX/partial   a root that a process unpacks or removes, or
//	                               that a killed process left
//
// HEX is a digest of the contents of the layers and the owner of the files. Its
// directory is locked: shared by the users of the root, exclusively by a
// process that creates or removes it. The kernel releases a lock when its
// process ends for any reason.
package rootfs
