package lock

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
)

// Tags returns the existing tags of repositories. Its errors are shown to users unchanged.
type Tags interface {
	// Has reports whether a tag exists.
	Has(ctx context.Context, tag name.Tag) (bool, error)
	// List returns all tags of a repository.
	List(ctx context.Context, repo name.Repository) ([]string, error)
}

// Resolve returns the reference of a dependency, as Crossplane's package manager does. If
// Version is a digest or an existing tag, the reference contains it. Otherwise the
// reference contains the highest tag that the version constraint allows. Tags that are not
// semantic versions are ignored. Prereleases are ignored unless the constraint names one.
func (d Dependency) Resolve(ctx context.Context, tags Tags, parse func(string) (name.Reference, error)) (name.Reference, error) {
	switch {
	case d.Version == "":
		return parse(d.Package)
	case IsDigest(d.Version):
		return parse(d.Package + "@" + d.Version)
	}
	constraint, err := semver.NewConstraint(d.Version)
	if err != nil {
		err := fmt.Errorf("reading the version %q of %q: it is neither a constraint nor a digest", d.Version, d.Package)
		return nil, hint.Wrap(err, "name a version such as v1.2.0, or a constraint such as >=v1.2.0")
	}
	repo, err := d.Repository(parse)
	if err != nil {
		return nil, err
	}
	if IsExact(d.Version) {
		tag := repo.Tag(d.Version)
		if there, err := tags.Has(ctx, tag); there || err != nil {
			return tag, err
		}
	}
	all, err := tags.List(ctx, repo)
	if err != nil {
		return nil, err
	}
	tag, ok := highest(all, constraint.Check)
	if !ok {
		err := fmt.Errorf("finding a version of %q: none of the %d tags matches %q", d.Package, len(all), d.Version)
		next := "push the package with a tag that is a version, such as v0.1.0"
		if newest, ok := highest(all, func(*semver.Version) bool { return true }); ok {
			next = "name a version that exists, such as " + newest
		}
		return nil, hint.Wrap(err, next)
	}
	return repo.Tag(tag), nil
}

// Repository returns the repository of a dependency whose Version is not empty.
func (d Dependency) Repository(parse func(string) (name.Reference, error)) (name.Repository, error) {
	if err := remote.CheckRepository(d.Package); err != nil {
		return name.Repository{}, err
	}
	ref, err := parse(d.Package + ":v0") // Only the repository is used; the tag is arbitrary.
	if err != nil {
		// The package names no registry. Parsed alone, it has the same error without the tag.
		if _, alone := parse(d.Package); alone != nil {
			err = alone
		}
		return name.Repository{}, err
	}
	return ref.Context(), nil
}

// IsDigest reports whether a version is a digest.
func IsDigest(version string) bool {
	_, err := v1.NewHash(version)
	return err == nil
}

// IsExact reports whether a version is a full semantic version that can be a tag. Build
// metadata, which begins with "+", is not allowed in tags.
func IsExact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil && !strings.Contains(version, "+")
}

// Allows reports whether a version constraint allows a tag. It returns false if the
// constraint or the tag is not valid.
func Allows(constraint, tag string) bool {
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(tag)
	return err == nil && c.Check(v)
}

// highest returns the tag with the highest version for which allows returns true. If several
// tags have that version, such as v1 and v1.0.0, it returns the longest tag. Of equally
// long tags, it returns the last in byte order. It returns false if no tag is allowed.
func highest(tags []string, allows func(*semver.Version) bool) (string, bool) {
	var best *semver.Version
	for _, tag := range tags {
		v, err := semver.NewVersion(tag)
		if err == nil && allows(v) && (best == nil || compare(v, best) > 0) {
			best = v
		}
	}
	if best == nil {
		return "", false
	}
	return best.Original(), true
}

func compare(a, b *semver.Version) int {
	return cmp.Or(a.Compare(b), cmp.Compare(len(a.Original()), len(b.Original())), cmp.Compare(a.Original(), b.Original()))
}
