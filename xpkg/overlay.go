package xpkg

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
)

// systemFolders are those of a Linux root (Filesystem Hierarchy Standard 3.0).
var systemFolders = []string{
	"bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt",
	"proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
}

// checkOverlay refuses extensions that would lie over what runs: their folders
// are in the root of the runtime's file system.
func checkOverlay(config map[string]any, extensions []ExtensionLayer) error {
	taken := slices.Concat(systemFolders, programFolders(config))
	for _, e := range extensions {
		if slices.Contains(taken, e.Name) {
			return hint.Wrap(fmt.Errorf("its root has a %q, over which the extensions folder of that name would lie", e.Name), "rename the folder")
		}
	}
	return nil
}

// programFolders returns the names in the root that a config's command and
// working directory begin with.
func programFolders(config map[string]any) []string {
	settings := object(config, "config")
	used := []any{settings["WorkingDir"]}
	for _, key := range []string{"Entrypoint", "Cmd"} {
		args, _ := settings[key].([]any)
		used = append(used, args...)
	}
	var names []string
	for _, u := range used {
		if at, ok := u.(string); ok && strings.Contains(at, "/") {
			first, _, _ := strings.Cut(path.Clean("/" + at)[1:], "/")
			names = append(names, first)
		}
	}
	return names
}
