// Package proc has helpers for child processes and concurrent work: process groups, the
// last lines of a program's output, lookups in an environment that the caller passes,
// sleeping with a context, and parallel work whose results keep the order of the inputs. A
// Watchdog reports when this process needs more memory than it may use, before the
// operating system or the Go runtime ends it, and says what the process was doing.
package proc
