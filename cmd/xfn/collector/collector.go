package collector

import (
	"runtime"
	"runtime/debug"
)

// usual is the default GOGC of the Go runtime, first the GOGC until the first garbage
// collection. With usual, that collection runs at a heap of 4 MiB, with first at 8 MiB.
// Before main, packages allocate almost 4 MiB and free little of it, so that a collection
// at 4 MiB would only slow each start.
const usual, first = 100, 200

// Go initializes a package after its imports, and sorts packages that are ready by path.
// Package collector imports only runtime packages, so that it is initialized before most
// other packages.
func init() {
	if set := debug.SetGCPercent(first); set != usual {
		debug.SetGCPercent(set) // Keep the value of the environment variable GOGC.
		return
	}
	// Nothing refers to the new object, so the first collection runs its cleanup, which
	// restores the default GOGC.
	runtime.AddCleanup(new(*byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
