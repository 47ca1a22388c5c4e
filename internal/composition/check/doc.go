// Package check validates the resource templates and patches of a Composition,
// and whether they fit the schemas of the patched resources.
//
// The rules and modes are those of Crossplane's documentation, "Composition
// validation" (v1.20). They apply to Compositions of mode Resources and to
// inputs of function-patch-and-transform. The errors that this function returns
// for an invalid input are reported, too.
//
// A patch is reported only if it fails for every value: if a value may have
// several types, the check assumes one that fits. If a schema is missing, only
// the checks that need it are skipped.
package check
