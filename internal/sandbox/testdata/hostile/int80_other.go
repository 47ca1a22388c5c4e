//go:build !amd64

package main

import "syscall"

// Only amd64 has the system call interface of 32-bit programs, int 0x80.
func int80() error { return syscall.ENOSYS }
