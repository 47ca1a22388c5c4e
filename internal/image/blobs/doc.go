// Package blobs stores blobs in a directory by digest. A blob gets its name only after it
// was verified and synced, so a killed process leaves no incomplete blob under a digest.
// Several processes may use the directory concurrently.
package blobs
