// Package spec defines the file format of suites: the fields, how cases inherit
// from defaults, how tables expand to cases, and the position of each field.
package spec
