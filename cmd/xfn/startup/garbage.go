package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// usual is the default GOGC of the Go runtime, first the GOGC until the first garbage
	// collection. With usual, that collection runs at a heap of 4 MiB, with first at 16 MiB.
	// Packages allocate almost 4 MiB before main, and a render of a few resources less than
	// 16 MiB: most commands end before the first collection.
	usual, first = 100, 400
	// After each collection, the heap may grow by about slack bytes. With usual, a command
	// with few live objects would collect each time that it has allocated some MiB.
	slack = 24 << 20
	// Above a heap of large bytes, frugal is the GOGC. It saves a quarter of the memory.
	frugal, large = 50, 48 << 20
)

// delayCollection raises GOGC until the first garbage collection, and sets it after each one.
func delayCollection() {
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
		next := percent(live[0].Value.Uint64())
		if next != current {
			debug.SetGCPercent(next)
		}
		afterCollection(next)
	}, current)
}

// percent returns the GOGC for a heap of live bytes. It is a multiple of 50, because a change
// stops the program for a moment.
func percent(live uint64) int {
	if live > large {
		return frugal
	}
	return min(max(int(slack*100/max(live, 1))/50*50, usual), first)
}
