// Package lock reads and writes the lock file: the digest of each image that
// functions files, package metadata and builds name by a tag or a version
// constraint. It also reads those dependencies from package metadata, resolves
// their versions, and answers from the lock file without a network.
package lock
