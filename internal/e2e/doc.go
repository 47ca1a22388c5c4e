// Package e2e has the timeout of every wait in tests. Its own tests run xfn as
// users do: the scripts of testdata, and the golden cases of packages and pushes.
package e2e
