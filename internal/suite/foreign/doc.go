// Package foreign reads the test suites of other tools: the kinds CompositionTest, OperationTest
// and E2ETest of Upbound's CLI, and the files of xprin. It converts each test to the content of a
// case of package spec, whether the test is run or written as a suite.
package foreign
