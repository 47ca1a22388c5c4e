// Package rootfs unpacks the layers of an image into a root file system, once
// for all that run it, and takes the image for hostile: nothing of it leads out
// of the root, and its size, its entries and their depth are bounded.
//
// A store is a directory that processes share:
//
//	DIR/roots/sha256/HEX/rootfs    a root, whole
//	DIR/roots/sha256/HEX/partial   one that is being unpacked or removed, or
//	                               was when its process was killed
//
// HEX stands for what a root is made of: the contents of the layers, and whom
// its files belong to. Its directory is what is locked: shared by those that
// use the root, exclusively by one that makes or removes it. Such a lock ends
// with its process, however that ends.
package rootfs
