// Package image fetches images and packages by reference or from files, verifies their
// digests and signatures, and caches them by digest for all processes. A Store is the cache.
// Its blobs are in a BlobDir: a blob gets its name only after it was verified and synced, so
// a killed process leaves no incomplete blob under a digest.
package image
