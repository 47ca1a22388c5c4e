package e2e_test

import "strings"

// A houseArea is a folder with one purpose, and all folders below it.
type houseArea struct {
	// Folder is its path from the root of the module, with slashes.
	Folder string
	// Layer limits the imports: areas of lower layers, and the area itself.
	Layer int
}

// topLayer is the layer of the command line, the only one that uses the terminal,
// the environment and the process.
const topLayer = 9

// houseAreas returns all areas of this module, from the top layer down. A new area
// needs a row, on the lowest layer above its imports.
func houseAreas() []houseArea {
	return []houseArea{
		{"cmd/xfn", topLayer},

		{"internal/e2e", 8},

		{"internal/suite", 7},
		{"internal/dev", 8},
		{"internal/clusterdiff", 7},
		{"xfntest", 7},

		{"internal/session", 6},
		{"internal/report", 6},
		{"internal/project", 6},

		{"internal/language", 5},

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
		{"internal/remote", 2},
		{"internal/signature", 1},

		{"internal/manifest", 0},
		{"internal/progress", 0},

		// Packages of layer 0 import packages proc and patch/fieldpath.
		{"internal/proc", -1},
		{"internal/patch", -1},

		// Packages proc and patch import packages fsx and hint.
		{"internal/fsx", -2},
		{"internal/hint", -2},
	}
}

// areaOf returns the area that contains a folder.
func areaOf(folder string, areas []houseArea) (houseArea, bool) {
	for _, r := range areas {
		if folder == r.Folder || strings.HasPrefix(folder, r.Folder+"/") {
			return r, true
		}
	}
	return houseArea{}, false
}
