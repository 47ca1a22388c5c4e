package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// usual is the default GOGC of the Go runtime, first the GOGC until the first garbage
	// collection. With usual, that collection runs at a heap of 4 MiB, with first at 8 MiB.
	// Before main, packages allocate almost 4 MiB and free little of it, so that a collection
	// at 4 MiB would only slow each start.
	usual, first = 100, 200
	// Above a heap of large bytes, frugal is the GOGC. It saves a quarter of the memory.
	frugal, large = 50, 64 << 20
)

// Go initializes a package after its imports, and sorts packages that are ready by path.
// Package collector imports only runtime packages, so that it is initialized before most
// other packages.
func init() {
	if set := debug.SetGCPercent(first); set != usual {
		debug.SetGCPercent(set) // Keep the value of the environment variable GOGC.
		return
	}
	afterCollection(first)
}

// afterCollection sets GOGC after each garbage collection. current is the present GOGC.
func afterCollection(current int) {
	// Nothing refers to the new object, so the next collection runs its cleanup.
	runtime.AddCleanup(new(*byte), func(current int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		next := usual
		if live[0].Value.Uint64() > large {
			next = frugal
		}
		if next != current {
			debug.SetGCPercent(next)
		}
		afterCollection(next)
	}, current)
}
