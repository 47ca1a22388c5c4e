package runtimes

import (
	"os"
	"path/filepath"
)

// IsSource reports whether path is a folder with source code, and not a folder with an OCI
// image layout.
func IsSource(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(path, "oci-layout"))
	return err != nil
}
