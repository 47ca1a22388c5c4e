// Package blobs keeps blobs in a directory by their digests. What has a name
// there is whole: it was checked and forced to disk before it got it. Processes
// may share the directory, and may be killed.
package blobs
