// Package collector delays the first run of the garbage collector in programs that
// import the package.
package collector
