// Package lock reads and writes the lock file, which has the digests of the
// images that functions files, package metadata and builds refer to. It also
// resolves the versions of dependencies, from registries or from the lock file.
package lock
