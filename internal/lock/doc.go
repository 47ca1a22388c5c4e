// Package lock is the lock file: which digest each image has that functions files,
// package metadata and builds name by a tag or a version constraint. It collects
// what is named, resolves it, and answers for it afterwards, without a network.
package lock
