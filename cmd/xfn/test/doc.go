// Package test has the commands `xfn test` and `xfn dev`.
package test
