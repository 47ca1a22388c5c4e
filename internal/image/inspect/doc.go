// Package inspect describes packages, extracts their layers, and compares
// packages. Packages are untrusted.
package inspect
