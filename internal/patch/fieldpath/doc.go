// Package fieldpath gets and sets values in objects by Crossplane's field paths, such as
// spec.forProvider.tags[0]. Its errors have the texts of crossplane-runtime. It replaces
// the package fieldpath of crossplane-runtime, which parses a path at each use, and which
// would double the size of this program.
package fieldpath
