// Package fieldpath finds and sets values in objects by paths such as
// spec.forProvider.tags[0] or metadata.labels[example.org/name], like
// Crossplane's field paths. It has the same error texts, since they are in
// results. The package of that name in crossplane-runtime parses a path at each
// use, and adds half of this program's size.
package fieldpath
