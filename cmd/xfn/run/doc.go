// Package run has the command that serves one function from its package.
package run
