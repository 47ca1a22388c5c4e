// Package patch moves values from one object to another, changed on the way by
// transforms: the patches of function-patch-and-transform, and of Crossplane
// itself before there was that. The rules are those of the former, oddities
// included, pinned by golden cases.
//
// A patch is compiled once; applying it only reads the result.
package patch
