// Package coverage measures which parts of Compositions the cases of suites exercise: steps,
// the parts of the inputs of builtins, fields of the composite resource, and composed fields
// that an expectation checks.
package coverage
