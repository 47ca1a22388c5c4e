// Package spec defines the file format of test suites: their fields, how cases inherit from
// the defaults, how tables become cases, and on which line each field is.
package spec
