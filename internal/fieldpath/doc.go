// Package fieldpath finds and sets values in objects by Crossplane's field
// paths, such as spec.forProvider.tags[0]. Its error texts are those of
// crossplane-runtime. It replaces that module's fieldpath package, which parses
// a path at each use and would double the size of this program.
package fieldpath
