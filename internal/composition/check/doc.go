// Package check validates the resource templates and patches of a Composition,
// and whether they fit the schemas of the patched resources.
//
// The rules and modes are those of Crossplane's documentation, "Composition
// validation" (v1.20). They apply to Compositions of mode Resources and to
// inputs of function-patch-and-transform, whose own errors are problems too.
//
// Only certain failures are problems: of several possible types a value is
// assumed to have one that fits. Without a schema only the checks that need it
// are skipped.
package check
