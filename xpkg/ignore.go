package xpkg

import (
	"path/filepath"
	"slices"
	"strings"
)

const separator = string(filepath.Separator)

// ignored are patterns of paths below a root, split at their separators.
type ignored [][]string

// add adds a pattern that is relative to root or begins with its path. abs is the
// absolute path of root.
func (i *ignored) add(pattern, root, abs string) error {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return err
	}
	rel, err := filepath.Rel(abs, filepath.Join(abs, pattern))
	if err != nil {
		return err
	}
	patterns := []string{rel}
	for _, dir := range []string{root, abs} {
		if below, ok := strings.CutPrefix(filepath.Clean(pattern), dir+separator); ok {
			patterns = append(patterns, below)
		}
	}
	for _, p := range patterns {
		same := func(a, b string) bool { return a == "**" && b == "**" }
		*i = append(*i, slices.CompactFunc(strings.Split(p, separator), same))
	}
	return nil
}

// match reports whether a pattern matches path. The walk does not enter a
// directory that matches.
func (i ignored) match(path string) bool {
	parts := strings.Split(path, separator)
	return slices.ContainsFunc(i, func(pattern []string) bool { return matchParts(pattern, parts) })
}

// matchParts is filepath.Match in which "**" matches any number of directories.
func matchParts(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], path) || len(path) > 0 && matchParts(pattern, path[1:])
	case len(path) == 0:
		return false
	}
	ok, err := filepath.Match(pattern[0], path[0])
	return ok && err == nil && matchParts(pattern[1:], path[1:])
}
