// Package inspect describes packages, extracts their layers, compares packages, and collects
// the CRDs of packages and files. Packages are untrusted.
package inspect
