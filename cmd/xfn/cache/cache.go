package cache

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
)

// Cmd is the group.
type Cmd struct {
	Info  InfoCmd  `cmd:"" help:"Show what is in the cache."`
	Prune PruneCmd `cmd:"" help:"Remove from the cache what is not needed."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Functions that were pulled are in the cache, so that the next render needs no network.

Example:

    xfn cache prune --older-than 30d
`
}

// A Dir is where the cache is, as a flag.
type Dir struct {
	CacheDir string `env:"XFN_CACHE_DIR" placeholder:"DIR" help:"The cache. Default: xfn in the user's directory for caches."`
}

// Path returns the directory.
func (d Dir) Path() (string, error) {
	if d.CacheDir != "" {
		dir, err := filepath.Abs(d.CacheDir)
		if err != nil {
			return "", fmt.Errorf("finding the cache %q: %w", d.CacheDir, err)
		}
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", hint.Wrap(fmt.Errorf("finding the user's directory for caches: %w", err), "name a directory by XFN_CACHE_DIR")
	}
	return filepath.Join(user, "xfn"), nil
}

// A format is how results are printed.
type format struct{ terminal.Format }

// print prints a value for a machine, or by text for people.
func (f format) print(w io.Writer, value any, text func(io.Writer) error) error {
	if err := f.Print(w, value, text); err != nil {
		return fmt.Errorf("printing what is in the cache: %w", err)
	}
	return nil
}
