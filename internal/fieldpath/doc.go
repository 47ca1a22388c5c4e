// Package fieldpath finds and sets values in objects by paths such as
// spec.forProvider.tags[0] or metadata.labels[example.org/name], the way
// Crossplane's own field paths do, error texts included, since these reach users
// as results. The package of that name in crossplane-runtime parses a path anew
// each time it is used, and brings half as much as the rest of this program.
package fieldpath
