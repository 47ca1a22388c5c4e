// Package alpha has the commands of the original xfn, which ran the functions of
// Crossplane v1.11 to v1.13: containers that read a FunctionIO and write one.
package alpha
