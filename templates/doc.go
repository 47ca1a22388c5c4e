// Package templates is the catalogue of package templates that go by a short
// name: where each one's git repository is, or its files where this program
// brings them along.
package templates
