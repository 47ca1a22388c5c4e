package runtimes

import (
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/image/lock"
)

// IsSource reports whether a package is a path, as lock.IsPath says, of a folder with source
// code, and not of a folder with an OCI image layout. A folder with the name of an image
// reference must not replace the image.
func IsSource(path string) bool {
	if !lock.IsPath(path) {
		return false
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(path, "oci-layout"))
	return err != nil
}
