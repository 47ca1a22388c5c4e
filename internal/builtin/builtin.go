package builtin

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/dummy"
)

// A Builtin is a function that lives in this binary.
type Builtin struct {
	// Name is that of the function's repository, as "function-dummy".
	Name string
	// Measured is the version of the real function that this one was
	// compared with.
	Measured string
	// Runner is the function.
	Runner function.Runner
}

// All returns the catalogue, sorted by name.
func All() []Builtin {
	return []Builtin{
		{Name: "function-dummy", Measured: "v0.4.1", Runner: dummy.Runner},
	}
}

// A Mode says how readily a builtin stands in for a package.
type Mode string

const (
	// Auto takes a builtin for a package of crossplane-contrib by tag.
	Auto Mode = "auto"
	// Any takes a builtin for any package by tag whose repository has its name.
	Any Mode = "any"
	// Off takes none.
	Off Mode = "off"
)

// A Policy is when to take a builtin in place of a package.
type Policy struct {
	// Mode is Auto if empty.
	Mode Mode
	// Repositories maps the repositories of mirrors, as "ghcr.io/acme/dummy",
	// to the names of builtins. It counts in every mode.
	Repositories map[string]string
}

// For returns the builtin that stands in for spec.package pkg, if any. There
// is none for a digest, since that names exact content.
func (p Policy) For(pkg string) (Builtin, bool) {
	tag, err := name.NewTag(pkg)
	if err != nil {
		return Builtin{}, false
	}
	if b, ok := p.mirrored(tag.Repository); ok {
		return b, true
	}
	owner, repo := path.Split(tag.RepositoryStr())
	if p.Mode == Off || p.Mode != Any && owner != "crossplane-contrib/" {
		return Builtin{}, false
	}
	return Named(repo)
}

// Forced returns the builtin for a package of which only a builtin will do: by
// its repository, or else by that's last element.
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

// Check returns an error if the policy names a builtin or a repository that
// cannot be.
func (p Policy) Check() error {
	for _, repo := range slices.Sorted(maps.Keys(p.Repositories)) {
		if _, err := name.NewRepository(repo); err != nil {
			return fmt.Errorf("%q is not a repository", repo)
		}
		if _, ok := Named(p.Repositories[repo]); !ok {
			return fmt.Errorf("there is no builtin %q", p.Repositories[repo])
		}
	}
	return nil
}

func (p Policy) mirrored(repo name.Repository) (Builtin, bool) {
	for mirror, builtin := range p.Repositories {
		if r, err := name.NewRepository(mirror); err == nil && r.Name() == repo.Name() {
			return Named(builtin)
		}
	}
	return Builtin{}, false
}

// Named returns the builtin of that name.
func Named(name string) (Builtin, bool) {
	for _, b := range All() {
		if b.Name == name {
			return b, true
		}
	}
	return Builtin{}, false
}
