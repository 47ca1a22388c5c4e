package proc

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Getenv returns the value of key in env, a list of KEY=VALUE, or "". If env has several
// values for key, the last applies, as in os/exec.
func Getenv(env []string, key string) string {
	value := ""
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && FoldKey(k) == FoldKey(key) {
			value = v
		}
	}
	return value
}

// FoldKey returns the name of an environment variable in the form in which names are
// compared: in upper case on Windows, and unchanged on other systems.
func FoldKey(key string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(key)
	}
	return key
}

// LookPath returns the path of the program name in the folders of PATH in env. It ignores
// relative folders, because the working directory may have untrusted content.
func LookPath(name string, env []string) (string, error) {
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s on PATH", name)
}
