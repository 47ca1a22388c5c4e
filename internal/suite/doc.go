// Package suite runs declarative tests of Compositions: it finds suites, plans
// which of their cases run, renders these by sessions that they share, and holds
// what comes of it to what the cases expect. The form of suites is that of
// package spec.
package suite
