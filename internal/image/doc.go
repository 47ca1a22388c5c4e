// Package image fetches images and packages by reference or from files, verifies their
// digests and signatures, and caches them by digest for all processes.
package image
