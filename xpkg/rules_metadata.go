package xpkg

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
)

// crossplaneVersion finds a spec.crossplane without a valid version constraint.
func crossplaneVersion(_ context.Context, c content, f *finder) {
	constraints, ok := object(c.meta.data, "spec")["crossplane"].(map[string]any)
	version := text(constraints, "version")
	if _, err := semver.NewConstraint(version); !ok || err == nil {
		return
	}
	const key = "spec.crossplane.version"
	what := fmt.Sprintf("%s is %q, which is not a version constraint", key, version)
	if version == "" {
		what = key + " is missing"
	}
	f.in(c.meta)
	f.add("crossplane-version", key, `write a constraint such as ">=v2.0.0", or leave spec.crossplane out`, "%s", what)
	f.found[len(f.found)-1].Refused = true
}

// dependencies finds dependencies that the control plane cannot install.
func dependencies(_ context.Context, c content, f *finder) {
	f.in(c.meta)
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
}

// dependencySource returns the field from which the control plane reads the name of
// the package, or "".
func (f *finder) dependencySource(at string, dep map[string]any) string {
	var named, missing []string
	for _, key := range []string{"apiVersion", "kind", "package"} {
		if dep[key] == nil {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		named = append(named, "package")
	}
	// The control plane reads these fields in this order, after package.
	for _, key := range []string{"configuration", "provider", "function"} {
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

// dependencyPackage finds a reference that is invalid or has no registry. The
// control plane adds the version to it.
func (f *finder) dependencyPackage(at, pkg string) {
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

// dependencyVersion finds a version that is neither a constraint nor a digest.
func (f *finder) dependencyVersion(at, version string) {
	if _, err := semver.NewConstraint(version); err == nil {
		return
	}
	if _, err := v1.NewHash(version); err == nil {
		return
	}
	const rule, next = "dependency-version", `write a constraint such as ">=v0.5.0", or a digest`
	if version == "" {
		f.add(rule, at, next, "%s.version is missing", at)
		return
	}
	f.add(rule, at+".version", next, "%s.version is %q, which is neither a version constraint nor a digest", at, version)
}

// knownCapabilities are those that the v2 control plane uses. Other programs may
// use others.
var knownCapabilities = map[string][]string{
	function: {"composition", "operation"},
	provider: {"safe-start"},
}

// capabilities finds those that occur twice, and those that look like a known one.
// The control plane compares their letters and digits, without case.
func capabilities(_ context.Context, c content, f *finder) {
	f.in(c.meta)
	seen := map[string]bool{}
	for i, entry := range list(object(c.meta.data, "spec"), "capabilities") {
		written, _ := entry.(string)
		at, got := fmt.Sprintf("spec.capabilities[%d]", i), fold(written)
		if got == "" || seen[got] {
			f.add("capability", at, "remove it", "%s is %q, which says nothing more", at, written)
			continue
		}
		seen[got] = true
		near, distance := "", 2
		for _, known := range knownCapabilities[c.meta.Kind] {
			if d := hint.EditDistance(fold(known), got); d < distance {
				near, distance = known, d
			}
		}
		if distance == 1 {
			f.add("capability", at, "", "%s is %q, which is not %q", at, written, near)
		}
	}
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
