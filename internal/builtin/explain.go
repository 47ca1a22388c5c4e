package builtin

import (
	"fmt"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Explain returns why For returns a builtin for a package, or why it returns none, as a clause.
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
