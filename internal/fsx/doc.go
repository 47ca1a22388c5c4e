// Package fsx has file operations that are safe against crashes, other processes
// and untrusted content: atomic writes, file locks, temporary directories that the
// next process removes after a crash, and removal of directories.
package fsx
