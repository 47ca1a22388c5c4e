// Package childtest runs a test binary again, as a process that can be killed.
package childtest
