// Package registry is the command group `xfn registry`.
package registry
