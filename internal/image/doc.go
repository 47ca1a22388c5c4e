// Package image fetches images and packages by reference or from files, verifies
// their digests and signatures, and keeps them in a cache that processes share and
// whose content is found by digest.
package image
