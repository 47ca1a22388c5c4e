// Package collector delays the first run of the garbage collector in programs that
// import the package, and runs it more often in a large heap.
package collector
