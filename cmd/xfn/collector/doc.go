// Package collector puts off the first run of the garbage collector, for a
// program that imports it.
package collector
