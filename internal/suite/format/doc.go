// Package format tells what became of cases: to people as `go test` does, to
// programs as JSON, and to CI systems as JUnit.
package format
