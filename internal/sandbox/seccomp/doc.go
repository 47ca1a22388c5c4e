// Package seccomp is the list of the system calls that a sandbox may make, and
// the filter made of it. It allows nothing that Docker's default profile denies
// to a container without added capabilities.
package seccomp
