package flags

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A Dir is where the cache is, as a flag.
type Cache struct {
	CacheDir string `env:"XFN_CACHE_DIR" placeholder:"DIR" help:"The cache. Default: xfn in the user's directory for caches."`
}

// Path returns the directory.
func (d Cache) Path() (string, error) {
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
