// Package seccomp lists the system calls that a sandboxed process may make, and compiles
// the list to a seccomp filter. The filter allows no call that Docker's default profile
// denies to a container without added capabilities.
package seccomp
