package project

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
)

const pkgVersion = "pkg.crossplane.io/v1"

func (r *reader) dependency(at string, d Dependency) {
	if d.Type == "" && r.p.Dialect == Crossplane {
		r.fail(at, "%s.type must not be empty", at)
	}
	given := 0
	for _, is := range []bool{d.XPkg != nil, d.Git != nil, d.HTTP != nil, d.K8s != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		r.fail(at, "%s has %d sources, expected one: xpkg, git, http or k8s", at, given)
		return
	}
	expected := "crd"
	switch {
	case d.XPkg != nil:
		expected = "xpkg"
		r.xpkg(at+".xpkg", *d.XPkg)
		d.XPkg.Key = "package"
	case d.Git != nil:
		r.require(at+".git.repository", d.Git.Repository)
	case d.HTTP != nil:
		r.require(at+".http.url", d.HTTP.URL)
		if u, err := url.Parse(d.HTTP.URL); d.HTTP.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			r.fail(at+".http.url", "%s.http.url is %q, expected a URL that begins with https:// or http://", at, d.HTTP.URL)
		}
	case d.K8s != nil:
		expected = "k8s"
		if err := CheckRelease("", d.K8s.Version); err != nil {
			r.fail(at+".k8s.version", "%s: %w", at, err)
		}
	}
	if d.Type != "" && d.Type != expected {
		r.warn(at+".type", "%s.type is %q, expected %s", at, d.Type, expected)
	}
	d.Field = at
	r.p.Dependencies = append(r.p.Dependencies, d)
}

// CheckRelease returns an error unless a version is the version of a release of Kubernetes. The
// examples in the error begin with prefix.
func CheckRelease(prefix, version string) error {
	v, err := semver.NewVersion(version)
	if err == nil && strings.TrimPrefix(version, "v") == v.String() && v.Metadata() == "" {
		return nil
	}
	invalid := fmt.Errorf("the version of k8s is %q, expected a release of Kubernetes, such as %sv1.33.0", version, prefix)
	if err != nil {
		return invalid
	}
	return hint.Wrap(invalid, hint.Meant(prefix+"v", v.String()))
}

// CheckPackage returns an error if the repository of a dependency is the project's repository.
func (p *Project) CheckPackage(repository string) error {
	if repository != p.Repository {
		return nil
	}
	err := fmt.Errorf("the package %q is the project itself, and Crossplane installs no package that depends on itself", repository)
	return hint.Wrap(err, "remove the dependency, or correct its repository or the project's")
}

func (r *reader) xpkg(at string, p Package) {
	for _, f := range []struct{ key, value string }{
		{"apiVersion", p.APIVersion}, {"kind", p.Kind}, {"package", p.Package}, {"version", p.Version},
	} {
		r.require(at+"."+f.key, f.value)
	}
	if strings.HasPrefix(p.APIVersion, "meta.") {
		r.warn(at+".apiVersion", "%s.apiVersion is %q, expected the apiVersion of the installed kind: %s", at, p.APIVersion, strings.TrimPrefix(p.APIVersion, "meta."))
	}
	if err := r.p.CheckPackage(p.Package); p.Package != "" && err != nil {
		r.fail(at, "%s: %w", at, err)
	}
	r.packageKind(at, p)
}

// packageKind warns of a kind that a package probably does not have. The crossplane CLI
// renders with dependencies of any kind as if they were functions.
func (r *reader) packageKind(at string, p Package) {
	if p.Package == "" {
		return
	}
	if err := remote.CheckRepository(p.Package); err != nil {
		r.fail(at, "%s: %w", at, err)
	}
	last := path.Base(p.Package)
	for kind, prefix := range map[string]string{"Provider": "provider-", "Function": "function-", "Configuration": "configuration-"} {
		// The package of a function in another project is named after that project, as in configuration-a_b.
		if strings.HasPrefix(last, prefix) && !strings.Contains(last, "_") && p.Kind != "" && p.Kind != kind {
			r.warn(at, "%s: the package %q is of kind %s, but its name is the name of a %s", at, p.Package, p.Kind, kind)
		}
	}
	if kinds := []string{"Provider", "Function", "Configuration"}; p.Kind != "" && !slices.Contains(kinds, p.Kind) {
		err := fmt.Errorf("%s.kind is %q, expected Provider, Function or Configuration", at, p.Kind)
		r.fail(at+".kind", "%w", hint.Wrap(err, hint.Meant("kind: ", hint.Nearest(p.Kind, kinds))))
	}
}

func (r *reader) upbound(s spec) {
	r.p.AdditionalMetadata = s.AdditionalMetadata
	for _, key := range slices.Sorted(maps.Keys(s.AdditionalMetadata)) {
		if !strings.HasPrefix(key, "meta.upbound.io/") {
			r.fail("spec.additionalMetadata."+key, "spec.additionalMetadata has the key %q, expected a key that begins with meta.upbound.io/", key)
		}
	}
	for i, d := range s.DependsOn {
		r.dependsOn(fmt.Sprintf("spec.dependsOn[%d]", i), d)
	}
	for i, d := range s.APIDependencies {
		r.dependency(fmt.Sprintf("spec.apiDependencies[%d]", i), d)
	}
	for i, c := range s.ImageConfig {
		r.rewrite(fmt.Sprintf("spec.imageConfig[%d]", i), c)
	}
}

// dependsOn adds a dependency of Upbound on a package.
func (r *reader) dependsOn(at string, d dependsOn) {
	given := 0
	pkg := Package{APIVersion: d.APIVersion, Kind: d.Kind, Version: d.Version}
	for _, n := range []struct{ key, kind, repository string }{
		{"package", d.Kind, d.Package},
		{"provider", "Provider", d.Provider},
		{"function", "Function", d.Function},
		{"configuration", "Configuration", d.Configuration},
	} {
		if n.repository != "" {
			pkg.Key, pkg.Kind, pkg.Package, given = n.key, n.kind, n.repository, given+1
		}
	}
	if given != 1 {
		r.fail(at, "%s names %d packages, expected one: in package, provider, function or configuration", at, given)
		return
	}
	if pkg.Key != "package" {
		pkg.APIVersion = pkgVersion
	}
	r.xpkg(at, pkg)
	r.p.Dependencies = append(r.p.Dependencies, Dependency{Type: "xpkg", XPkg: &pkg, Field: at})
}
