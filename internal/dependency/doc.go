// Package dependency is what a package's metadata says of the packages that it
// needs: which they are, what a cluster calls them, and which version of each it
// would take.
package dependency
