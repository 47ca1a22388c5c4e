package main

import "syscall"

// getpid32 returns the process id. It uses the system call interface of 32-bit programs,
// in which system calls have other numbers.
func getpid32() int32

func int80() error {
	if n := getpid32(); n < 0 {
		return syscall.Errno(-n)
	}
	return nil
}
