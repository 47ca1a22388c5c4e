package cache

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

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
type format struct {
	Format string `enum:"text,json,yaml" default:"text" help:"Print ${enum}."`
}

// print prints a value for a machine, or by text for people.
func (f format) print(w io.Writer, value any, text func(io.Writer) error) error {
	err := f.write(w, value, text)
	if err != nil {
		return fmt.Errorf("printing what is in the cache: %w", err)
	}
	return nil
}

func (f format) write(w io.Writer, value any, text func(io.Writer) error) error {
	switch f.Format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	case "yaml":
		raw, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(raw)
		return err
	default:
		return text(w)
	}
}
