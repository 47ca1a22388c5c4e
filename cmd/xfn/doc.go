// Command xfn takes a Crossplane composition function from an empty directory
// to a registry: scaffold, build, render, test, push.
package main
