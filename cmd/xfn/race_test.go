//go:build race

package main

// initLimit is what package init may allocate in bytes. The race detector takes
// about as much again.
const initLimit = 12 << 20
