// Package suite runs declarative tests of Compositions. It finds suites,
// selects their cases, renders them in shared sessions and checks the output.
// Package spec defines the file format.
package suite
