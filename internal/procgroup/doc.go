// Package procgroup lets a child process be killed with all that it started.
package procgroup
