// Package pull brings images from registries: as package files, and for
// running through a cache that processes share, whose content is found by its
// digest. It reads images of files and folders in the same way.
package pull
