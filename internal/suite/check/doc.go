// Package check compares the output of a render with the expectations of a case.
package check
