package collector

import (
	"runtime"
	"runtime/debug"
)

// usual is the Go runtime's own GOGC, with which it collects for the first time
// at a heap of 4 MiB. The packages of the program allocate almost as much before
// main: the first collection would be part of each start, and finds little.
const usual, first = 100, 200

// The order in which packages are initialized follows their imports and, among
// those that could be next, their paths. This package has no imports but the
// runtime's, so that most packages come after it.
func init() {
	if set := debug.SetGCPercent(first); set != usual {
		debug.SetGCPercent(set) // as GOGC says
		return
	}
	// The first collection finds that nothing uses the mark.
	runtime.AddCleanup(new(*byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
