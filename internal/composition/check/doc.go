// Package check validates the resource templates and patches of a Composition,
// and whether they fit the schemas of the patched resources.
//
// The rules and modes follow the section "Composition validation" of Crossplane's
// documentation (v1.20). They apply to Compositions of mode Resources and to inputs of
// function-patch-and-transform. Package check also reports the errors that
// function-patch-and-transform returns for an invalid input.
//
// A patch is reported only if it fails for every value. If a value may have
// several types, the check assumes a type that fits. If a schema is missing, only
// the checks that need this schema are skipped.
package check
