//go:build !amd64

package main

import "syscall"

// There is no other interface.
func int80() error { return syscall.ENOSYS }
