// Package e2e builds xfn for tests and has the timeout of their waits. Its own tests run xfn as
// users do: the scripts of testdata, and the golden cases of packages and pushes.
package e2e
