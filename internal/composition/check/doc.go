// Package check finds out what is wrong with a Composition besides its
// pipeline: what its resource templates and patches say, and whether that fits
// the schemas of the resources that are patched.
//
// The rules and modes are those of Crossplane's documentation, "Composition
// validation" (v1.20), and hold for Compositions of mode Resources and for the
// inputs of function-patch-and-transform. What the function itself refuses of an
// input is found, too.
//
// Only what cannot work is a problem: a value that may be of several types is
// taken to be of one that fits. Where a schema is missing, what it would decide
// is not judged, and everything else is.
package check
