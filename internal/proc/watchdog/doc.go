// Package watchdog ends a process that needs more memory than it may use, before
// the operating system or the Go runtime does, and says what the process was doing.
package watchdog
