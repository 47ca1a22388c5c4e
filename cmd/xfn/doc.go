// Command xfn scaffolds, builds, renders, tests and pushes Crossplane
// composition functions.
package main
