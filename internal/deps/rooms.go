package deps

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

		{"internal/dev", 7},

		{"suite", 6},
		{"internal/impact", 6},

		{"session", 5},
		{"internal/report", 5},

		{"render", 4},
		{"init", 4},
		{"push", 4},
		{"internal/builtin", 4},
		{"internal/runtimes", 4},
		{"internal/runtimeimage", 4},
		{"internal/registry", 4},
		{"internal/crds", 4},
		{"internal/lock", 4},
		{"internal/validate", 4},

		{"internal/pull", 3},
		{"internal/rootfs", 3},
		{"internal/composition", 3},
		{"internal/dependency", 3},

		{"xpkg", 2},
		{"internal/kinds", 2},
		{"internal/sandbox", 2},

		{"function", 1},
		{"templates", 1},
		{"internal/manifest", 1},
		{"internal/crd", 1},
		{"internal/schema", 1},
		{"internal/remote", 1},
		{"internal/dockerengine", 1},
		{"internal/gobuild", 1},
		{"internal/signature", 1},
		{"internal/tempdir", 1},
		{"internal/patch", 1},

		{"internal/atomicfile", 0},
		{"internal/pause", 0},
		{"internal/progress", 0},
		{"internal/golden", 0},
		{"internal/environ", 0},
		{"internal/ordered", 0},
		{"internal/strict", 0},
		{"internal/hint", 0},
		{"internal/imagetest", 0},
		{"internal/ioerror", 0},
		{"internal/fieldpath", 0},
		{"internal/jsontext", 0},
		{"internal/junit", 0},
		{"internal/procgroup", 0},
		{"internal/remove", 0},
		{"internal/deps", 0},

		// What floor 0 stands on.
		{"internal/filelock", -1},
		{"internal/nearest", -1},
		{"internal/childtest", -1},
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
