// Package format writes the outcomes of cases as text in the style of go test,
// as JSON and as JUnit.
package format
