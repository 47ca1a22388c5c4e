// Package blobs stores blobs in a directory by digest. A blob gets its name
// only after it was verified and synced. Several processes may use the
// directory, and may be killed.
package blobs
