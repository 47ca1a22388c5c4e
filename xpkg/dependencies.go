package xpkg

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Rules that ReadOptions.Tolerated and ReadOptions.Without may name.
const (
	// RuleDependencyPackage is the rule for dependencies without a registry.
	RuleDependencyPackage = "dependency-package"
	// RuleDependencyVersion is the rule for versions that the package manager cannot resolve.
	RuleDependencyVersion = "dependency-version"
	// RuleDuplicateDependency is the rule for two dependencies on the same package.
	RuleDuplicateDependency = "duplicate-dependency"
	// RuleFunctionName is the rule for steps that call a dependency by a misspelled name.
	RuleFunctionName = "function-name"
	// RuleMetadataName is the rule for names of packages that Kubernetes does not allow.
	RuleMetadataName = "metadata-name"
)

// dependencies finds dependencies that the control plane cannot install.
func dependencies(_ context.Context, c content, f *finder) {
	f.in(c.meta)
	seen := map[string]string{}
	for i, entry := range fieldpath.List(c.meta.data, "spec", "dependsOn") {
		dep, _ := entry.(map[string]any)
		at := fmt.Sprintf("spec.dependsOn[%d]", i)
		f.dependencyVersion(at, fieldpath.Text(dep, "version"))
		key := f.dependencySource(at, dep)
		if key == "" {
			continue
		}
		pkg := fieldpath.Text(dep, key)
		f.dependencyPackage(at+"."+key, pkg)
		f.dependencyKind(c, at, key, dep)
		if first, ok := seen[pkg]; ok {
			f.add(RuleDuplicateDependency, at, "remove one of the two", "%s depends on %q, as %s already does", at, pkg, first)
			continue
		}
		seen[pkg] = at
	}
}

// calledFunctions finds steps whose function has a misspelled name of a dependency.
func calledFunctions(_ context.Context, c content, f *finder) {
	labels := map[string]string{} // The names of the Functions of dependencies, by the names of the Functions and of their repositories.
	for _, entry := range fieldpath.List(c.meta.data, "spec", "dependsOn") {
		pkg := cmp.Or(fieldpath.Text(entry, "package"), fieldpath.Text(entry, "function"))
		if ref, err := name.NewRepository(pkg); err == nil {
			label := Label(ref.RepositoryStr())
			labels[label], labels[path.Base(pkg)] = label, label
		}
	}
	names := slices.Sorted(maps.Keys(labels))
	for _, o := range c.objects {
		if o.Kind != "Composition" || len(names) == 0 {
			continue
		}
		f.in(o)
		obj, err := o.value()
		if err != nil {
			continue // Another rule reports it.
		}
		for i, step := range fieldpath.List(obj, "spec", "pipeline") {
			called := fieldpath.Text(step, "functionRef", "name")
			if near := hint.Misspelled(called, names); near != "" {
				field := fmt.Sprintf("spec.pipeline[%d].functionRef.name", i)
				f.add(RuleFunctionName, field, "did you mean "+labels[near]+"?", "%s: no dependency has the name %q", field, called).Warning = true
			}
		}
	}
}

// dependencySource returns the field from which the control plane reads the package of
// a dependency, or "" if the dependency has no such field.
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
	// If the field package is not set, the control plane uses the first of these
	// fields that is set.
	for _, key := range []string{"configuration", "provider", "function"} {
		if dep[key] != nil {
			named = append(named, key)
		}
	}
	const rule = "dependency-source"
	switch {
	case len(named) > 1:
		f.add(rule, at, "write a separate dependency for each package", "%s names several packages, but only that in field %s would be used", at, named[0])
	case len(named) == 1 && len(missing) > 0 && len(missing) < 3:
		f.add(rule, at, "set "+strings.Join(missing, " and ")+", or remove the other fields", "%s has only some of apiVersion, kind and package, which would be ignored", at)
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

// dependencyPackage finds an invalid reference, or a reference without a registry.
func (f *finder) dependencyPackage(at, pkg string) {
	repo, err := name.NewRepository(pkg, name.StrictValidation)
	if err == nil && repo.Name() == pkg {
		return
	}
	const rule = RuleDependencyPackage
	if _, err := name.NewRepository(pkg); err == nil {
		f.add(rule, at, "begin the name with the registry's host", "%s is %q, which names no registry, and there is no default one", at, pkg)
		return
	}
	if ref, err := name.ParseReference(pkg, name.WithDefaultTag("")); err == nil && ref.Identifier() != "" {
		f.add(rule, at, "move the tag or digest to the field version", "%s is %q, but must not have a tag or digest", at, pkg)
		return
	}
	f.add(rule, at, "write it as registry.example.org/owner/package", "%s is %q, which is not a reference of a package", at, pkg)
}

// dependencyKind finds a kind that no package has, and a kind that contradicts the name of the
// package. The control plane creates an object of the kind to install the package. It may have
// kinds in other API groups than the group of Crossplane's packages.
func (f *finder) dependencyKind(c content, at, key string, dep map[string]any) {
	const rule, group = "dependency-kind", "pkg.crossplane.io"
	apiVersion, kind := group+"/v1", strings.ToUpper(key[:1])+key[1:]
	if key == "package" {
		apiVersion, kind = fieldpath.Text(dep, "apiVersion"), fieldpath.Text(dep, "kind")
	}
	kinds := []string{configuration, function, provider}
	gvk := kschema.FromAPIVersionAndKind(apiVersion, kind)
	switch near := hint.Nearest(gvk.Group, []string{group}); {
	case gvk.Group == "", near != "" && gvk.Group != group:
		f.add(rule, at+".apiVersion", fmt.Sprintf("did you mean %s/v1?", group), "%s.apiVersion is %q, which has no kind of package", at, apiVersion)
		return
	case gvk.Group != group:
		return
	case !slices.Contains(kinds, kind):
		next := cmp.Or(hint.Meant("kind: ", hint.Nearest(kind, kinds)), "write kind: Configuration, Function or Provider")
		f.add(rule, at+".kind", string(next), "%s.kind is %q, which is not a kind of package", at, kind)
		return
	}
	if gvk.Version != "v1" { // Each release serves v1, and its CRDs are a large file.
		release := newest(c.releases, decoded{})
		if err := release.Definition(gvk.GroupKind()).Serves(gvk.Version); err != nil {
			f.add(rule, at+".apiVersion", "", "%s.apiVersion is %q, but Crossplane %s does not serve kind %s of it: %v", at, apiVersion, release, kind, err)
		}
	}
	base := path.Base(fieldpath.Text(dep, key))
	if strings.Contains(base, "_") {
		return // The package of a function in a project is named after the project, as in configuration-a_b.
	}
	named, _, _ := strings.Cut(base, "-")
	if i := slices.IndexFunc(kinds, func(k string) bool { return strings.ToLower(k) == named && k != kind }); i >= 0 {
		f.add(rule, at+"."+key, "did you mean kind: "+kinds[i]+"?", "%s is of kind %s, but the name of the package %q is the name of a %s", at, kind, fieldpath.Text(dep, key), kinds[i]).Warning = true
	}
}

// dependencyVersion finds a version that is neither a constraint nor a digest.
func (f *finder) dependencyVersion(at, version string) {
	if c, err := semver.NewConstraint(version); err == nil {
		if !satisfiable(c, version) {
			f.add(RuleDependencyVersion, at+".version", "correct the versions", "%s.version is %q, which no release satisfies", at, version)
		}
		return
	}
	if _, err := v1.NewHash(version); err == nil {
		return
	}
	const rule, next = RuleDependencyVersion, `write a constraint such as ">=v0.5.0", or a digest`
	if version == "" {
		f.add(rule, at, next, "%s.version is missing", at)
		return
	}
	f.add(rule, at+".version", next, "%s.version is %q, which is neither a version constraint nor a digest", at, version)
}

// releasesIn matches the versions in a constraint.
var releasesIn = proc.Regexp(`\d+(?:\.\d+){0,2}`)

// satisfiable reports whether a release can satisfy a constraint. It tries the releases that the
// constraint names, the next patch, minor and major releases after these, and the first possible
// release. It is true for a constraint with pre-releases.
func satisfiable(c *semver.Constraints, text string) bool {
	if strings.ContainsAny(text, "-+") {
		return true
	}
	for _, at := range append(releasesIn().FindAllString(text, -1), "0.0.0") {
		v, err := semver.NewVersion(at)
		if err != nil {
			return true
		}
		patch, minor, major := v.IncPatch(), v.IncMinor(), v.IncMajor()
		if c.Check(v) || c.Check(&patch) || c.Check(&minor) || c.Check(&major) {
			return true
		}
	}
	return false
}
