package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A Lock is the content of a lock file.
type Lock struct {
	// File is the name of the lock file, for errors.
	File           string
	RequiresPython Specifiers
	Packages       []Package
	// Index is the package index that a requirements.txt names, or "". ExtraIndexes are
	// further ones.
	Index        string
	ExtraIndexes []string
	// From is the path of the project relative to the lock file. Empty means the same folder.
	From string

	// graph is true if packages have the dependencies to follow. Otherwise all packages
	// whose marker is true are installed.
	graph bool
	// environments are markers of which one must be true, if there are any, and groups the
	// dependency groups that are installed by default (pylock.toml).
	environments []Marker
	groups       []string
	// constraints are versions that packages must have if they are installed.
	constraints []Requirement
}

// A Package is a package in a lock file.
type Package struct {
	// Name is normalized. Version is empty if the lock file has none.
	Name, Version string
	Marker        Marker
	// Forks are markers of which one must be true, if there are any (uv.lock).
	Forks  []Marker
	Wheels []File
	// Hashes are the SHA-256 sums of files that an index has, in hex, if the lock file names
	// no files.
	Hashes []string
	// Directory is the path of a source folder, relative to the lock file, or "".
	Directory string
	// Origin describes the source of a package without wheels: "an sdist", "a git repository".
	Origin string
	// Extras are the further dependencies of each extra. The extra "" has the dependencies of the package.
	Extras map[string][]Dependency
	// Requires is what a source folder required when it was locked, if the lock file says this.
	Requires []Dependency

	requiresPython Specifiers
	source         uvSource
}

// A Dependency is an edge in the graph of a uv.lock.
type Dependency struct {
	Name, Version string
	Extras        []string
	Marker        Marker

	source uvSource
}

// A File is a wheel in a lock file or a package index.
type File struct {
	// Name is the file name of the wheel.
	Name string
	// URL is the address of the file. Without a URL, Path is its path relative to the lock
	// file.
	URL, Path string
	// Direct is true for a file that a dependency names, which no index has.
	Direct bool
	// SHA256 is in hex.
	SHA256 string
}

// String returns "name version".
func (p Package) String() string { return strings.TrimSpace(p.Name + " " + p.Version) }

// Decode parses TOML into a value. Errors name the file and the line.
func Decode(file string, data []byte, into any) error {
	err := toml.Unmarshal(data, into)
	var at toml.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("parsing %s:%d: %s", file, at.Position.Line, at.Message)
	}
	if err != nil {
		return fmt.Errorf("parsing %s: %w", file, err)
	}
	return nil
}

// newFile returns the wheel at a URL or path. hash is "ALGORITHM:HEX".
func newFile(name, at, local, hash string) (f File, err error) {
	f = File{Name: name, URL: at, Path: local}
	if f.Name == "" && at != "" {
		u, err := url.Parse(at)
		if err != nil {
			return f, errors.New("a wheel has an invalid URL") // the URL may have a password
		}
		f.Name = path.Base(u.Path)
	}
	f.Name = cmp.Or(f.Name, path.Base(strings.ReplaceAll(local, `\`, "/")))
	f.SHA256, err = sha256Hex(hash)
	if err != nil {
		return f, fmt.Errorf("wheel %q: %w", f.Name, err)
	}
	return f, nil
}

// sha256Hex returns the hex digits of "sha256:HEX".
func sha256Hex(hash string) (string, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(hash), "sha256:")
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("expected the hash sha256:HEX, got %q", hash)
	}
	return digits, nil
}

// Root returns the package of the lock file that is the project itself.
func (l *Lock) Root() (Package, bool) {
	i := slices.IndexFunc(l.Packages, func(p Package) bool { return p.Directory == path.Join(l.From, ".") })
	if i < 0 {
		return Package{}, false
	}
	return l.Packages[i], true
}

// Above returns the path of the lock file's folder relative to the project, such as "../..".
func (l *Lock) Above() string {
	return path.Join(strings.Repeat("../", strings.Count(path.Join(l.From, "x"), "/")), ".")
}

// Directories returns the source folders that the project depends on, on any platform,
// without the project itself. The paths are relative to the lock file.
func (l *Lock) Directories() []string {
	root, ok := l.Root()
	var all []string
	queue, seen := slices.Clone(root.Extras[""]), map[string]bool{}
	for _, p := range l.Packages {
		if (!l.graph || !ok) && p.Directory != "" && p.Directory != root.Directory {
			all = append(all, p.Directory)
		}
	}
	for i := 0; i < len(queue); i++ {
		d := queue[i]
		for _, p := range l.Packages {
			key := fmt.Sprint(p.Name, p.Version, p.Directory, d.Extras)
			if p.Name != d.Name || seen[key] {
				continue
			}
			seen[key] = true
			for _, extra := range append([]string{""}, d.Extras...) {
				queue = append(queue, p.Extras[extra]...)
			}
			if p.Directory != "" && p.Directory != root.Directory && !slices.Contains(all, p.Directory) {
				all = append(all, p.Directory)
			}
		}
	}
	return all
}

// Has reports whether the lock file has a package with this normalized name.
func (l *Lock) Has(name string) bool {
	return slices.ContainsFunc(l.Packages, func(p Package) bool { return p.Name == name })
}
