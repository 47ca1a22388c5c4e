// Package seccomp lists the system calls that a sandbox may make, and compiles
// the list to a filter. It allows no call that Docker's default profile denies
// to a container without added capabilities.
package seccomp
