package deps_test

import "strings"

// A Room is a folder with one purpose, and all folders below it.
type Room struct {
	// Folder is its path from the root of the module, with slashes.
	Folder string
	// Floor says what it may import: rooms of lower floors, and itself.
	Floor int
}

// top is the floor of the command line: the one that knows the terminal, the
// environment and the process.
const top = 8

// Rooms returns every room of this module, from the top floor down. A new room
// is a new line here, on the lowest floor that has what it needs below.
func Rooms() []Room {
	return []Room{
		{"cmd/xfn", top},

		{"internal/e2e", 7},

		{"internal/suite", 6},
		{"internal/dev", 7},
		{"internal/clusterdiff", 6},
		{"xfntest", 6},

		{"internal/session", 5},
		{"internal/report", 5},

		{"render", 4},
		{"init", 4},
		{"push", 4},
		{"internal/builtin", 4},
		{"internal/runtimes", 4},
		{"internal/runtimeimage", 4},
		{"internal/registry", 4},

		{"internal/image", 3},
		{"internal/alpha", 3},

		{"xpkg", 2},
		{"internal/composition", 2},
		{"internal/sandbox", 2},

		{"function", 1},
		{"templates", 1},
		{"internal/oci", 1},
		{"internal/schema", 1},
		{"internal/patch", 1},
		{"internal/remote", 2},
		{"internal/dockerengine", 1},
		{"internal/signature", 1},

		{"internal/manifest", 0},
		{"internal/progress", 0},
		{"internal/fieldpath", 0},

		// Floor 0 imports these.
		{"internal/proc", -1},

		// Package proc imports these.
		{"internal/fsx", -2},
		{"internal/hint", -2},
	}
}

// roomOf returns the room that a folder lies in.
func roomOf(folder string, rooms []Room) (Room, bool) {
	for _, r := range rooms {
		if folder == r.Folder || strings.HasPrefix(folder, r.Folder+"/") {
			return r, true
		}
	}
	return Room{}, false
}
