// Package test is the command `xfn test`.
package test
