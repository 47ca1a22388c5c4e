//go:build !race

package main

// initLimit is what package init may allocate in bytes.
const initLimit = 5 << 20
