package builtin

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/mod/semver"
)

// A Mode decides for which packages a builtin is used.
type Mode string

const (
	// Auto uses a builtin for a package of crossplane-contrib that is referenced by a tag.
	Auto Mode = "auto"
	// Any uses a builtin for a package of any owner that is referenced by a tag.
	Any Mode = "any"
	// Strict is like Auto, but it is an error if the builtin does not replace the
	// version of the package.
	Strict Mode = "strict"
	// Off uses no builtin.
	Off Mode = "off"
)

// Mirror is the organization of a public registry that has copies of the functions of
// crossplane-contrib.
const Mirror = "xpkg.upbound.io/upbound/"

// A Policy decides for which packages a builtin is used.
type Policy struct {
	// Mode is Auto if it is empty.
	Mode Mode
	// Repositories maps repositories to the names of the builtins that replace them, such
	// as "ghcr.io/acme/dummy" to "dummy". They are replaced in every mode.
	Repositories map[string]string
}

// For returns the builtin that replaces the function package pkg, and whether
// there is one. A package that is referenced by digest is never replaced.
func (p Policy) For(pkg string) (Builtin, bool) {
	tag, err := name.NewTag(pkg)
	if err != nil {
		return Builtin{}, false
	}
	if b, ok := p.mirrored(tag.Repository); ok {
		return b, true
	}
	if p.Mode == Off || p.Mode != Any && !isContrib(tag) {
		return Builtin{}, false
	}
	return Named(path.Base(tag.RepositoryStr()))
}

// Replaces reports whether a builtin replaces the function package pkg and imitates the version, which is
// a version or a constraint, or "" if pkg has a tag.
func (p Policy) Replaces(pkg, version string) bool {
	if semver.IsValid(version) {
		pkg += ":" + version
	}
	b, ok := p.For(pkg)
	return ok && !strings.Contains(version, ":") && b.CheckVersion(pkg) == nil // A digest has a colon.
}

// isContrib reports whether a package belongs to crossplane-contrib, or is a copy of such
// a package in the mirror.
func isContrib(pkg name.Tag) bool {
	owner, _ := path.Split(pkg.RepositoryStr())
	return owner == "crossplane-contrib/" || pkg.RegistryStr()+"/"+owner == Mirror
}

// Forced returns the builtin that replaces the function package pkg, regardless
// of the mode. It looks up the package in p.Repositories, and then the last
// element of the package's repository among the names of builtins.
func (p Policy) Forced(pkg string) (Builtin, bool) {
	ref, err := name.ParseReference(pkg)
	if err != nil {
		return Builtin{}, false
	}
	if b, ok := p.mirrored(ref.Context()); ok {
		return b, true
	}
	return Named(path.Base(ref.Context().RepositoryStr()))
}

// Official returns the name of the builtin if pkg is a package of the function that the builtin
// replaces, in any mode and version, and otherwise "".
func (p Policy) Official(pkg string) string {
	ref, err := name.ParseReference(pkg)
	if err != nil {
		return ""
	}
	if b, ok := p.mirrored(ref.Context()); ok {
		return b.Name
	}
	owner, repo := path.Split(ref.Context().RepositoryStr())
	if b, ok := Named(repo); ok && owner == "crossplane-contrib/" {
		return b.Name
	}
	return ""
}

// Check returns an error if a key of p.Repositories is not a repository, or if a
// builtin in p.Repositories does not exist.
func (p Policy) Check() error {
	for _, repo := range slices.Sorted(maps.Keys(p.Repositories)) {
		if _, err := name.NewRepository(repo); err != nil {
			return fmt.Errorf("expected a repository such as ghcr.io/acme/dummy, got %q", repo)
		}
		if _, err := Find(p.Repositories[repo]); err != nil {
			return err
		}
	}
	return nil
}

func (p Policy) mirrored(repo name.Repository) (Builtin, bool) {
	for mirror, builtin := range p.Repositories {
		if r, err := name.NewRepository(mirror); err == nil && r.Name() == repo.Name() {
			b, err := Find(builtin)
			return b, err == nil
		}
	}
	return Builtin{}, false
}

// Explain returns a clause that says why For returns a builtin for a package, or why it does not.
func (p Policy) Explain(pkg string) string {
	tag, err := name.NewTag(pkg)
	switch {
	case strings.Contains(pkg, "@"):
		return "the package is referenced by digest"
	case err != nil:
		return "the package is not referenced by a tag"
	}
	if b, ok := p.mirrored(tag.Repository); ok {
		return fmt.Sprintf("repository %s is mapped to %s; %s", tag.Repository, b.Name, b.covers(pkg))
	}
	b, ok := Named(path.Base(tag.RepositoryStr()))
	switch {
	case !ok:
		return "no builtin has the name " + path.Base(tag.RepositoryStr())
	case p.Mode == Off:
		return "builtins are off"
	case p.Mode == Any:
		return "builtins replace packages of any owner; " + b.covers(pkg)
	case !isContrib(tag):
		return "the owner of the package is not crossplane-contrib"
	default:
		return "the owner of the package is crossplane-contrib; " + b.covers(pkg)
	}
}

// covers returns a clause about the version of pkg and the versions that b replaces.
func (b Builtin) covers(pkg string) string {
	switch v := tag(pkg); {
	case v == "":
		return "the package has no version"
	case b.CheckVersion(pkg) == nil:
		return fmt.Sprintf("version %s is in the range %s", v, b.Versions())
	default:
		return fmt.Sprintf("version %s is not in the range %s", v, b.Versions())
	}
}
