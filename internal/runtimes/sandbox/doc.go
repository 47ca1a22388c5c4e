// Package sandbox runs functions in containers of their own, from an .xpkg file,
// an OCI layout or a registry, on Linux: without a daemon, without root, and
// without trust. [Sandbox] starts functions that serve gRPC; [Containers] runs
// those of the alpha, which read from stdin and end. Where no container can be
// made, [Confined] starts functions as processes.
package sandbox
