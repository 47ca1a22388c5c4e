// Package sdk is to the builtins what a function SDK is to functions of their
// own: how a response begins, how results are said, and how input, objects and
// what was compiled out of them come and go.
package sdk
