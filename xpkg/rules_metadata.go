package xpkg

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// crossplaneVersion finds a spec.crossplane whose version is no constraint, or
// missing, which the control plane refuses.
func crossplaneVersion(_ context.Context, c content) Problems {
	constraints, ok := object(c.meta.data, "spec")["crossplane"].(map[string]any)
	if !ok {
		return nil
	}
	const key = "spec.crossplane.version"
	f := finding{doc: c.meta.doc}
	version := text(constraints, "version")
	if _, err := semver.NewConstraint(version); err == nil {
		return nil
	}
	what := fmt.Sprintf("%s is %q, which is not a version constraint", key, version)
	if version == "" {
		what = key + " is missing"
	}
	f.add("crossplane-version", key, `write a constraint such as ">=v2.0.0", or leave spec.crossplane out`, "%s", what)
	f.problems[0].Refused = true
	return f.problems
}

// oldForms are the fields of a dependency that name a package and its kind, in
// the order in which the control plane looks for them; apiVersion, kind and
// package together come before.
var oldForms = []string{"configuration", "provider", "function"}

// dependencies finds those that the control plane could not install.
func dependencies(_ context.Context, c content) Problems {
	f := finding{doc: c.meta.doc}
	seen := map[string]string{}
	for i, entry := range list(object(c.meta.data, "spec"), "dependsOn") {
		dep, _ := entry.(map[string]any)
		at := fmt.Sprintf("spec.dependsOn[%d]", i)
		f.dependencyVersion(at, text(dep, "version"))
		key := f.dependencySource(at, dep)
		if key == "" {
			continue
		}
		pkg := text(dep, key)
		f.dependencyPackage(at+"."+key, pkg)
		if first, ok := seen[pkg]; ok {
			f.add("duplicate-dependency", at, "remove one of the two", "%s depends on %q, and so does %s", at, pkg, first)
			continue
		}
		seen[pkg] = at
	}
	return f.problems
}

// dependencySource returns the field that names the package for the control
// plane, or "" if none does.
func (f *finding) dependencySource(at string, dep map[string]any) string {
	var named, missing []string
	for _, key := range []string{"apiVersion", "kind", "package"} {
		if dep[key] == nil {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		named = append(named, "package")
	}
	for _, key := range oldForms {
		if dep[key] != nil {
			named = append(named, key)
		}
	}
	const rule = "dependency-source"
	switch {
	case len(named) > 1:
		f.add(rule, at, "make one dependency of each", "%s names several packages, and only that of %s would count", at, named[0])
	case len(named) == 1 && len(missing) > 0 && len(missing) < 3:
		f.add(rule, at, "set "+strings.Join(missing, " and ")+", or leave the others out", "%s has a part of apiVersion, kind and package, which would not count", at)
	case len(named) == 0 && len(missing) < 3:
		f.add(rule, at, "", "%s has no %s: apiVersion, kind and package belong together", at, strings.Join(missing, " and no "))
	case len(named) == 0:
		f.add(rule, at, "set apiVersion, kind and package", "%s names no package", at)
	}
	if len(named) == 0 {
		return ""
	}
	return named[0]
}

// dependencyPackage finds a reference that names no registry, or is none. The
// control plane adds the version to it.
func (f *finding) dependencyPackage(at, pkg string) {
	repo, err := name.NewRepository(pkg, name.StrictValidation)
	if err == nil && repo.Name() == pkg {
		return
	}
	const rule = "dependency-package"
	if _, err := name.NewRepository(pkg); err == nil {
		f.add(rule, at, "begin it with the registry's host", "%s is %q, which names no registry, and there is no default one", at, pkg)
		return
	}
	if ref, err := name.ParseReference(pkg, name.WithDefaultTag("")); err == nil && ref.Identifier() != "" {
		f.add(rule, at, "move it to version", "%s is %q: the tag or digest does not belong there", at, pkg)
		return
	}
	f.add(rule, at, "write it as registry.example.org/owner/package", "%s is %q, which is not a reference of a package", at, pkg)
}

// dependencyVersion finds what is neither a version constraint nor a digest.
func (f *finding) dependencyVersion(at, version string) {
	if _, err := semver.NewConstraint(version); err == nil {
		return
	}
	if _, err := v1.NewHash(version); err == nil {
		return
	}
	const rule, hint = "dependency-version", `write a constraint such as ">=v0.5.0", or a digest`
	if version == "" {
		f.add(rule, at, hint, "%s.version is missing", at)
		return
	}
	f.add(rule, at+".version", hint, "%s.version is %q, which is neither a version constraint nor a digest", at, version)
}

// knownCapabilities are those that the v2 control plane acts on. Others may mean
// something to somebody else.
var knownCapabilities = map[string][]string{
	function: {"composition", "operation"},
	provider: {"safe-start"},
}

// capabilities finds those that occur twice, and those that look like a known
// one but are not. Letters and digits count for the control plane, whatever
// their case.
func capabilities(_ context.Context, c content) Problems {
	f := finding{doc: c.meta.doc}
	seen := map[string]bool{}
	for i, entry := range list(object(c.meta.data, "spec"), "capabilities") {
		written, _ := entry.(string)
		at, got := fmt.Sprintf("spec.capabilities[%d]", i), fold(written)
		if got == "" || seen[got] {
			f.add("capability", at, "remove it", "%s is %q, which says nothing more", at, written)
			continue
		}
		seen[got] = true
		known := knownCapabilities[c.meta.Kind]
		i := slices.IndexFunc(known, func(k string) bool { return oneEdit(fold(k), got) })
		if i >= 0 && !slices.ContainsFunc(known, func(k string) bool { return fold(k) == got }) {
			f.add("capability", at, "", "%s is %q, which is not %q", at, written, known[i])
		}
	}
	return f.problems
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// oneEdit reports whether b is a with one letter more, less or changed, or with
// two neighbours swapped.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return a[i+1:] == b[i+1:] || swapped
}
