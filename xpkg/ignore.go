package xpkg

import (
	"path/filepath"
	"slices"
	"strings"
)

const separator = string(filepath.Separator)

// ignored are patterns of paths, cut at their separators.
type ignored [][]string

// add adds a pattern of paths below root, whose path from the top is abs. The
// pattern may begin with either, or with "./", and go round by "..".
func (i *ignored) add(pattern, root, abs string) error {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return err
	}
	rel, err := filepath.Rel(abs, filepath.Join(abs, pattern))
	if err != nil {
		return err
	}
	*i = append(*i, strings.Split(rel, separator))
	for _, dir := range []string{root, abs} {
		if below, ok := strings.CutPrefix(filepath.Clean(pattern), dir+separator); ok {
			*i = append(*i, strings.Split(below, separator))
		}
	}
	return nil
}

// match reports whether path, from the root, is to be left out. It is asked
// for a directory before what that holds.
func (i ignored) match(path string) bool {
	parts := strings.Split(path, separator)
	return slices.ContainsFunc(i, func(pattern []string) bool { return matchParts(pattern, parts) })
}

// matchParts is filepath.Match, where "**" stands for any number of directories,
// or none.
func matchParts(pattern, path []string) bool {
	for ; len(pattern) > 0; pattern, path = pattern[1:], path[1:] {
		if pattern[0] == "**" {
			rest := slices.IndexFunc(pattern, func(p string) bool { return p != "**" })
			if rest < 0 {
				return true
			}
			for from := range path {
				if matchParts(pattern[rest:], path[from:]) {
					return true
				}
			}
			return false
		}
		if len(path) == 0 {
			return false
		}
		if ok, err := filepath.Match(pattern[0], path[0]); !ok || err != nil {
			return false
		}
	}
	return len(path) == 0
}
