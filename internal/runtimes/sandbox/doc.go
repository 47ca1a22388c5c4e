// Package sandbox starts functions in containers of their own, from an .xpkg
// file, an OCI layout or a registry, on Linux: without a daemon, without root,
// and without trust.
package sandbox
