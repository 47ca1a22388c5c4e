// Package inspect reads finished packages as values, for people and for
// programs: what a package holds, what of it can be taken out, and what changes
// from one package to another. Packages are taken for hostile.
package inspect
