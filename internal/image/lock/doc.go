// Package lock reads and writes the lock file. The file contains the digests of the images
// that functions files, package metadata and builds refer to. The package also resolves the
// version constraints of dependencies, from registries or from the lock file.
package lock
