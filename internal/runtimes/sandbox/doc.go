// Package sandbox runs functions in containers on Linux, from an .xpkg file, an OCI
// layout or a registry. It needs neither a daemon nor root, and does not trust the
// functions. [Sandbox] starts functions that serve gRPC. [Containers] runs functions of
// alpha Crossplane, which read from stdin and end. On systems that forbid containers,
// [Confined] starts functions as processes.
package sandbox
