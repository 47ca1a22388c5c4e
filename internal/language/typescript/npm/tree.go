package npm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Target is a platform that packages are selected for, in the terms of Node.js: the
// values of process.platform and process.arch, and glibc or musl.
type Target struct {
	OS, CPU string
	// Libc is Glibc or Musl. If it is empty, packages for each libc are selected.
	Libc string
}

// The values of Target.Libc.
const (
	Glibc = "glibc"
	Musl  = "musl"
)

// cpus maps Go's names of processors to Node.js's names, where they differ.
var cpus = map[string]string{"amd64": "x64", "386": "ia32", "ppc64le": "ppc64", "mipsle": "mipsel"}

// TargetOf returns the target of Linux on a processor, in Go's terms (GOARCH).
func TargetOf(arch string) Target {
	return Target{OS: "linux", CPU: cmp.Or(cpus[arch], arch)}
}

func (t Target) String() string { return strings.TrimSuffix(t.OS+"/"+t.CPU+"/"+t.Libc, "/") }

// HasLibc reports whether the lock file has packages that are only for some libc. It ignores
// development dependencies.
func (l *Lock) HasLibc() bool {
	for _, e := range l.entries {
		if len(e.Libc) > 0 && !e.Dev {
			return true
		}
	}
	return false
}

// Links returns the folders that the lock file installs as links, such as workspaces, sorted. It
// leaves out development dependencies.
func (l *Lock) Links() []string {
	var all []string
	for _, e := range l.entries {
		if e.Link && !e.Dev && !slices.Contains(all, e.Resolved) {
			all = append(all, e.Resolved)
		}
	}
	slices.Sort(all)
	return all
}

func (t Target) runs(e *entry) bool {
	return allows(e.OS, t.OS) && allows(e.CPU, t.CPU) && (t.Libc == "" || allows(e.Libc, t.Libc))
}

// allows reports whether a list in package.json allows a value. "!x" allows any value except x.
func allows(l list, value string) bool {
	if len(l) == 0 || len(l) == 1 && l[0] == "any" {
		return true
	}
	negated := 0
	for _, one := range l {
		if name, not := strings.CutPrefix(one, "!"); not {
			if negated++; name == value {
				return false
			}
		} else if name == value {
			return true
		}
	}
	return negated == len(l)
}

// A Package is a package in a tree.
type Package struct {
	// At is the location, a path relative to the lock file.
	At string
	// Name is the name in the registry, and Import the name by which programs import it.
	Name, Import, Version string
	// Resolved is the URL of the tarball, or a file: URL. Empty means the URL of the tarball in the
	// registry.
	Resolved  string
	Integrity string
	// Folder is the location of the folder that a link leads to. Only links have it.
	Folder string
	Link   bool
	// Bundled is true for a package that the tarball of another package contains.
	Bundled bool
	// InstallScript is true if npm would run a script after unpacking.
	InstallScript bool
	// Specific is true for a package that is only for some platforms.
	Specific bool
	// Needs are the locations of the packages that it needs.
	Needs []string
	// Lacks are the names of optional packages that the lock file lacks, if it has other
	// optional packages of the same package and all of them are for other platforms. npm
	// writes such a file if node_modules was created on another platform.
	Lacks []string
}

func (p *Package) String() string { return p.Name + "@" + p.Version }

// Tree returns the packages that the project at the location from needs at run time, sorted
// by location. It leaves out development dependencies, and optional packages for other
// platforms.
func (l *Lock) Tree(from string, m *Manifest, t Target) ([]*Package, error) {
	r := &resolver{lock: l, target: t, unusable: map[string]string{}, found: map[string]*Package{}}
	r.exclude()
	root := &entry{Requirements: m.Requirements}
	if _, err := r.visit(from, root); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	if from == "" { // npm links all workspaces, whether they are dependencies or not.
		for _, at := range slices.Sorted(maps.Keys(l.entries)) {
			if e := l.entries[at]; !e.Link || e.Dev || !strings.HasPrefix(at, modules+"/") || r.unusable[at] != "" {
				continue
			}
			if err := r.add(at); err != nil {
				return nil, err
			}
		}
	}
	all := slices.Collect(maps.Values(r.found))
	slices.SortFunc(all, func(a, b *Package) int { return strings.Compare(a.At, b.At) })
	return all, nil
}

type resolver struct {
	lock   *Lock
	target Target
	// unusable has the locations of packages that cannot be used on the target, and the
	// reasons.
	unusable map[string]string
	found    map[string]*Package
}

type need struct {
	name, at string
	optional bool
}

// needs returns the packages that an entry at a location needs, sorted by name. at is
// empty if the lock file does not have the package.
func (r *resolver) needs(from string, e *entry) []need {
	if e.Link {
		target := r.lock.entries[e.Resolved]
		if target == nil {
			return nil
		}
		return r.needs(e.Resolved, target)
	}
	optional := map[string]bool{} // by name
	for name := range e.Dependencies {
		optional[name] = false
	}
	for name := range e.Peers {
		if _, ok := optional[name]; !ok && !e.PeersMetadata[name].Optional {
			// npm can leave out peers, with --legacy-peer-deps.
			_, there := r.lock.resolve(from, name)
			optional[name] = !there
		}
	}
	for name := range e.Optional {
		optional[name] = true
	}
	all := make([]need, 0, len(optional))
	for _, name := range slices.Sorted(maps.Keys(optional)) {
		at, _ := r.lock.resolve(from, name)
		all = append(all, need{name, at, optional[name]})
	}
	return all
}

// exclude finds the unusable packages: packages for other platforms, and packages that
// need an unusable or missing package.
func (r *resolver) exclude() {
	users := map[string][]string{} // the packages that need a package
	var next []string
	for _, at := range slices.Sorted(maps.Keys(r.lock.entries)) {
		e := r.lock.entries[at]
		if isInstalled(at) && !r.target.runs(e) {
			r.unusable[at] = "is not for " + r.target.String()
			next = append(next, at)
			continue
		}
		for _, n := range r.needs(at, e) {
			switch {
			case n.optional:
			case n.at == "":
				r.unusable[at] = fmt.Sprintf("needs %s, which %s does not have", n.name, LockFile)
				next = append(next, at)
			default:
				users[n.at] = append(users[n.at], at)
			}
		}
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, user := range users[at] {
			if r.unusable[user] == "" {
				r.unusable[user] = fmt.Sprintf("needs %s, which %s", r.lock.label(at), r.unusable[at])
				next = append(next, user)
			}
		}
	}
}

func (l *Lock) label(at string) string { return nameOf(at) + "@" + l.entries[at].Version }

// visit adds the packages that an entry at a location needs, and returns their locations.
func (r *resolver) visit(from string, e *entry) ([]string, error) {
	var needs []string
	for _, n := range r.needs(from, e) {
		if n.optional && (n.at == "" || r.unusable[n.at] != "") {
			continue
		}
		if n.at == "" {
			return nil, fmt.Errorf("%s does not have the dependency %s", LockFile, n.name)
		}
		if err := r.add(n.at); err != nil {
			return nil, err
		}
		needs = append(needs, n.at)
	}
	return needs, nil
}

// add adds the package at a location and all packages that it needs.
func (r *resolver) add(at string) (err error) {
	if r.found[at] != nil {
		return nil
	}
	e := r.lock.entries[at]
	if why := r.unusable[at]; why != "" {
		return fmt.Errorf("the dependency %s %s", r.lock.label(at), why)
	}
	p := &Package{
		At: at, Import: nameOf(at), Name: cmp.Or(e.Name, nameOf(at)), Version: e.Version, Resolved: e.Resolved, Integrity: e.Integrity,
		Link: e.Link, Bundled: e.InBundle && e.Integrity == "", InstallScript: e.HasInstallScript,
		Specific: len(e.OS)+len(e.CPU)+len(e.Libc) > 0,
	}
	if e.Link {
		p.Folder, p.Resolved = e.Resolved, ""
	}
	r.found[at] = p
	p.Lacks = r.lacks(at, e)
	p.Needs, err = r.visit(at, e)
	return err
}

func (r *resolver) lacks(from string, e *entry) (missing []string) {
	others := false
	for _, n := range r.needs(from, e) {
		_, optional := e.Optional[n.name]
		switch there := r.lock.entries[n.at]; {
		case !optional:
		case n.at == "":
			missing = append(missing, n.name)
		case r.target.runs(there):
			return nil
		default:
			others = true
		}
	}
	if !others {
		return nil
	}
	return missing
}
