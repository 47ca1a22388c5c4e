package npm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/xfn-dev/xfn/internal/hint"
)

const (
	// ManifestFile is the name of the file that describes a package.
	ManifestFile = "package.json"
	// MaxManifest limits the bytes of a ManifestFile.
	MaxManifest = 1 << 20
)

// A Manifest is the content of a package.json.
type Manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Main    string `json:"main"`
	Requirements
	Development map[string]string `json:"devDependencies"`

	text string
}

// ParseManifest parses a package.json.
func ParseManifest(data []byte) (*Manifest, error) {
	m := &Manifest{text: string(data)}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, explainJSON(data, err)
	}
	return m, nil
}

// Line returns ":" and the line that has a key, or "" if there is none.
func (m *Manifest) Line(key string) string {
	before, _, ok := strings.Cut(m.text, `"`+key+`"`)
	if !ok {
		return ""
	}
	return fmt.Sprintf(":%d", 1+strings.Count(before, "\n"))
}

// Check returns an error unless the lock file has, for each dependency, a version that the
// manifest of the project at the location from allows.
func (l *Lock) Check(from string, m *Manifest) error {
	locked := l.entries[from]
	if locked == nil {
		return hint.Wrap(fmt.Errorf("%s has no project %q", LockFile, from), regenerate)
	}
	for _, wanted := range []struct{ now, then map[string]string }{{m.Dependencies, locked.Dependencies}, {m.Optional, locked.Optional}} {
		for _, name := range slices.Sorted(maps.Keys(wanted.now)) {
			if !isName(name) {
				return fmt.Errorf("%s%s: %q is not the name of a package", ManifestFile, m.Line(name), name)
			}
			has := l.versionOf(from, name, wanted.now[name], wanted.then[name])
			if has == "" {
				continue
			}
			err := fmt.Errorf("%s%s asks for %s %q, but %s has %s", ManifestFile, m.Line(name), name, wanted.now[name], LockFile, has)
			return hint.Wrap(err, regenerate)
		}
	}
	return nil
}

// Dropped reports whether the project at the location from depended on a package when npm wrote the
// lock file, and does not by its manifest.
func (l *Lock) Dropped(from string, m *Manifest, name string) bool {
	locked := l.entries[from]
	return locked != nil && locked.Dependencies[name] != "" && m.Dependencies[name] == "" && m.Optional[name] == "" && m.Development[name] == ""
}

// versionOf describes the version that the lock file has of a package, or returns "" if the
// range now allows this version. then is the range for which npm wrote the lock file.
func (l *Lock) versionOf(from, name, now, then string) string {
	at, found := l.resolve(from, name)
	if !found {
		if then == now && l.entries[from].Optional[name] != "" {
			return ""
		}
		return "no such package"
	}
	e := l.entries[at]
	if e.Link {
		return ""
	}
	real, alias := strings.CutPrefix(now, "npm:")
	if i := strings.LastIndex(real, "@"); alias && i > 0 {
		real, now, then = real[:i], real[i+1:], ""
	} else if !alias {
		real = name
	}
	rule, err := semver.NewConstraint(now)
	version, versionErr := semver.NewVersion(e.Version)
	switch {
	case (alias || err == nil) && cmp.Or(e.Name, name) != real:
		return "the package " + cmp.Or(e.Name, name)
	case err != nil || versionErr != nil: // a tag, a URL or a path
		if then == "" || then == now {
			return ""
		}
		return fmt.Sprintf("%q", then)
	case rule.Check(version), then == now && version.Prerelease() != "":
		return ""
	default:
		return fmt.Sprintf("version %s", e.Version)
	}
}

// resolve returns the location of the package that a program at the location from imports
// by this name: the closest folder node_modules that has it ("Modules: CommonJS modules",
// Node.js documentation).
func (l *Lock) resolve(from, name string) (string, bool) {
	for dir := from; ; dir = parent(dir) {
		at := path.Join(dir, modules, name)
		if l.entries[at] != nil {
			return at, true
		}
		if dir == "" || dir == ".." {
			return "", false
		}
	}
}

// parent returns the parent folder of a location. The parent of the folder a is "".
func parent(at string) string {
	i := strings.LastIndex(at, "/")
	return at[:max(i, 0)]
}
