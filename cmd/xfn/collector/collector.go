package collector

import (
	"runtime"
	"runtime/debug"
)

// usual is the default GOGC of the Go runtime, with which the first collection runs at a
// heap of 4 MiB. The packages of the program allocate almost as much before main. That
// collection would slow each start, and find little. With first, it runs at 8 MiB.
const usual, first = 100, 200

// The order in which packages are initialized follows their imports and, among
// those that could be next, their paths. This package has no imports but the
// runtime's, so that most packages come after it.
func init() {
	if set := debug.SetGCPercent(first); set != usual {
		debug.SetGCPercent(set) // keep the value that the variable GOGC has set
		return
	}
	// Nothing refers to this object, so the first collection runs its cleanup.
	runtime.AddCleanup(new(*byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
