package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A Choice is a package to install.
type Choice struct {
	Package
	// Wheel is the file to install. It has no name if the package has only Hashes.
	Wheel File
}

// ElsewhereHint is the action for a package that has no wheel.
const ElsewhereHint = "install the function's packages into a folder with pip, and use " + hint.EmbedRuntimeDir

// Choose returns the packages to install for a target, sorted by name, without source
// folders. required are the dependencies of the project and of its source folders; project is
// the name of the file that lists them. Choose returns an error if the lock file contradicts
// them.
func (l *Lock) Choose(project string, required []Requirement, t Target) ([]Choice, error) {
	if !l.RequiresPython.Match(t.Full()) {
		return nil, fmt.Errorf("%s requires Python %s, but the base image has %s", l.File, l.RequiresPython, t.Full())
	}
	if err := l.checkEnvironment(t); err != nil {
		return nil, err
	}
	if err := l.checkRequires(project, required, t); err != nil {
		return nil, err
	}
	packages, err := l.installed(required, t)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", l.File, err)
	}
	if err := l.check(project, required, packages, t); err != nil {
		return nil, err
	}
	var all []Choice
	var errs []error
	for _, p := range packages {
		if p.Directory != "" {
			continue
		}
		c := Choice{Package: p}
		var err error
		switch {
		case len(p.Wheels) > 0:
			c.Wheel, err = Best(p.Wheels, p.Name, p.Version, t)
		case len(p.Hashes) == 0:
			err = fmt.Errorf("it exists only as source (%s), which needs a build", cmp.Or(p.Origin, "no file is listed"))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("choosing a wheel of %s from %s: %w", p, l.File, err))
		}
		all = append(all, c)
	}
	if len(errs) > 0 {
		return nil, hint.Wrap(errors.Join(errs...), ElsewhereHint)
	}
	slices.SortFunc(all, func(a, b Choice) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

const relock = "lock again, as with uv lock"

// environment returns the environment for which the markers of the lock file are evaluated.
func (l *Lock) environment(t Target) Environment {
	env := t.Environment()
	env.Groups = l.groups
	return env
}

// checkEnvironment returns an error if the lock file is not for the target (PEP 751).
func (l *Lock) checkEnvironment(t Target) error {
	matches := func(m Marker) bool { return m.Match(l.environment(t)) }
	if len(l.environments) == 0 || slices.ContainsFunc(l.environments, matches) {
		return nil
	}
	var all []string
	for _, m := range l.environments {
		all = append(all, m.String())
	}
	return hint.Wrap(fmt.Errorf("%s is for the environments %s, and not for %s", l.File, strings.Join(all, " or "), t), relock)
}

// checkRequires compares the dependencies for which the lock file was created with the
// dependencies that the project and its source folders require now.
func (l *Lock) checkRequires(project string, required []Requirement, t Target) error {
	root, _ := l.Root()
	for _, d := range root.Requires {
		if !d.Marker.Match(l.environment(t)) {
			continue // for another platform, or for an extra of the project
		}
		if !slices.ContainsFunc(required, func(r Requirement) bool { return r.Name == d.Name }) {
			return hint.Wrap(fmt.Errorf("%s was created for %s, but %s does not require it", l.File, d.Name, project), relock)
		}
	}
	extras := map[string][]string{} // that some source folder required when it was locked
	for _, p := range l.Packages {
		for _, d := range p.Requires {
			extras[d.Name] = append(append([]string{""}, extras[d.Name]...), d.Extras...)
		}
	}
	for _, r := range required {
		for _, extra := range r.Extras {
			if locked := extras[r.Name]; locked != nil && !slices.Contains(locked, extra) {
				return hint.Wrap(fmt.Errorf("%s requires %s, but %s was created without the extra %s", project, r.Text, l.File, extra), relock)
			}
		}
	}
	return nil
}

func (l *Lock) check(project string, required []Requirement, packages []Package, t Target) error {
	for _, r := range required {
		if r.URL != "" || !r.Marker.Match(t.Environment()) {
			continue
		}
		i := slices.IndexFunc(packages, func(p Package) bool { return p.Name == r.Name })
		if i < 0 {
			return hint.Wrap(fmt.Errorf("%s requires %s, but %s does not have it for %s", project, r.Text, l.File, t), relock)
		}
		v, err := ParseVersion(packages[i].Version)
		if packages[i].Directory == "" && (err != nil || !r.Specifiers.Match(v)) {
			return hint.Wrap(fmt.Errorf("%s requires %s, but %s has %s", project, r.Text, l.File, packages[i]), relock)
		}
	}
	for _, r := range l.constraints {
		i := slices.IndexFunc(packages, func(p Package) bool { return p.Name == r.Name })
		if i < 0 || !r.Marker.Match(t.Environment()) {
			continue
		}
		if v, err := ParseVersion(packages[i].Version); err != nil || !r.Specifiers.Match(v) {
			return hint.Wrap(fmt.Errorf("%s has %s, but its constraints require %s", l.File, packages[i], r.Text), relock)
		}
	}
	return nil
}

// installed returns the packages for a target without the project itself.
func (l *Lock) installed(required []Requirement, t Target) ([]Package, error) {
	if l.graph {
		return l.walk(required, t)
	}
	var all []Package
	for _, p := range l.Packages {
		if p.Directory == "." || !p.Marker.Match(l.environment(t)) {
			continue
		}
		if !p.requiresPython.Match(t.Full()) {
			return nil, fmt.Errorf("%s requires Python %s, but the base image has %s", p, p.requiresPython, t.Full())
		}
		if p.Name != "" && slices.ContainsFunc(all, func(o Package) bool { return o.Name == p.Name }) {
			return nil, fmt.Errorf("package %s occurs twice for %s", p.Name, t)
		}
		all = append(all, p)
	}
	return all, nil
}

func (l *Lock) walk(required []Requirement, t Target) ([]Package, error) {
	byName := map[string][]Package{}
	for _, p := range l.Packages {
		byName[p.Name] = append(byName[p.Name], p)
	}
	root, _ := l.Root()
	queue := slices.Clone(root.Extras[""])
	for _, r := range required {
		locked := slices.ContainsFunc(queue, func(d Dependency) bool { return d.Name == r.Name })
		if _, known := byName[r.Name]; known && !locked {
			queue = append(queue, Dependency{Name: r.Name, Extras: r.Extras, Marker: r.Marker})
		}
	}
	seen, found := map[string]bool{}, map[string]Package{}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		if !d.Marker.Match(t.Environment()) {
			continue
		}
		p, err := pick(byName[d.Name], d, t)
		if err != nil {
			return nil, err
		}
		if other, ok := found[p.Name]; ok && other.Version != p.Version {
			return nil, fmt.Errorf("packages %s and %s are both for %s", other, p, t)
		}
		found[p.Name] = p
		for _, extra := range append([]string{""}, d.Extras...) {
			if key := p.Name + "[" + extra; !seen[key] {
				seen[key] = true
				queue = append(queue, p.Extras[extra]...)
			}
		}
	}
	delete(found, root.Name)
	return slices.SortedFunc(maps.Values(found), func(a, b Package) int { return strings.Compare(a.Name, b.Name) }), nil
}

// pick returns the package to which a dependency refers, among the packages with its name.
func pick(packages []Package, d Dependency, t Target) (Package, error) {
	var fits []Package
	for _, p := range packages {
		forked := len(p.Forks) > 0 && !slices.ContainsFunc(p.Forks, func(m Marker) bool { return m.Match(t.Environment()) })
		if !forked && (d.Version == "" || d.Version == p.Version) && (d.source == uvSource{} || d.source == p.source) {
			fits = append(fits, p)
		}
	}
	switch len(fits) {
	case 0:
		return Package{}, fmt.Errorf("package %q is required, but is not in the file for %s", d.Name, t)
	case 1:
		return fits[0], nil
	default:
		return Package{}, fmt.Errorf("package %q occurs twice for %s", d.Name, t)
	}
}

// Best returns the wheel that the target prefers. All wheels must be of this package and
// version.
func Best(files []File, name, version string, t Target) (best File, err error) {
	want, err := ParseVersion(version)
	if err != nil {
		return best, err
	}
	rank := map[string]int{}
	for i, tag := range t.Tags() {
		rank[tag] = i
	}
	found, build := len(rank), 0
	for _, f := range files {
		w, err := ParseWheelName(f.Name)
		if err != nil {
			return best, err
		}
		if w.Name != name || w.Version.Compare(want) != 0 {
			return best, fmt.Errorf("wheel %q is not of %s %s", f.Name, name, version)
		}
		for _, tag := range w.Tags {
			r, ok := rank[tag]
			if ok && (r < found || r == found && w.Build > build) {
				best, found, build = f, r, w.Build
			}
		}
	}
	if best.Name == "" {
		return best, fmt.Errorf("no wheel is for %s: %s", t, someNames(files))
	}
	return best, nil
}

// someNames returns the names of the first few files.
func someNames(files []File) string {
	const most = 3
	var names []string
	for _, f := range files[:min(most, len(files))] {
		names = append(names, f.Name)
	}
	if len(files) > most {
		names = append(names, fmt.Sprintf("and %d more", len(files)-most))
	}
	return strings.Join(names, ", ")
}
