// Package suite runs declarative tests of Compositions. It finds suites,
// selects their cases, renders them in shared sessions and checks the output. It also
// runs cases for mutants of Compositions, which are copies with one small mistake: a suite
// that passes for a mutant does not notice the mistake. A Generator makes composite
// resources that an XRD allows. Reports have the outcomes as text in the style of go test,
// as JSON and as JUnit.
// Package spec defines the file format.
package suite
