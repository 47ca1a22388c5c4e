// Package e2e has what tests share that run whole programs: xfn itself, the
// programs of fixtures, and the limit of every wait. Its own tests run xfn as its
// users do: the scripts of testdata, and the golden cases of packages and pushes.
package e2e
