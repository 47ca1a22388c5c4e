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
)

// Tags returns tags of repositories. Errors are sentences for users.
type Tags interface {
	// Has reports whether a tag exists.
	Has(ctx context.Context, tag name.Tag) (bool, error)
	// List returns all tags of a repository.
	List(ctx context.Context, repo name.Repository) ([]string, error)
}

// Resolve returns the reference of a dependency: its digest, its tag, or the
// highest tag that its constraint allows, as in Crossplane's package manager.
// Tags that are not semantic versions are ignored, as are prereleases that the
// constraint does not name.
func (d Dependency) Resolve(ctx context.Context, tags Tags, parse func(string) (name.Reference, error)) (name.Reference, error) {
	switch {
	case d.Version == "":
		return parse(d.Package)
	case IsDigest(d.Version):
		return parse(d.Package + "@" + d.Version)
	}
	constraint, err := semver.NewConstraint(d.Version)
	if err != nil {
		return nil, fmt.Errorf("reading the version %q of %q: it is neither a constraint nor a digest", d.Version, d.Package)
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
	tag, ok := highest(all, constraint)
	if !ok {
		err := fmt.Errorf("finding a version of %q: none of its %d tags is %s", d.Package, len(all), d.Version)
		return nil, hint.Wrap(err, "change the version in dependsOn")
	}
	return repo.Tag(tag), nil
}

// Repository returns the repository of a dependency with a version.
func (d Dependency) Repository(parse func(string) (name.Reference, error)) (name.Repository, error) {
	ref, err := parse(d.Package + ":v0") // Any tag works.
	if err != nil {
		return name.Repository{}, err
	}
	return ref.Context(), nil
}

// IsDigest reports whether a version is a digest.
func IsDigest(version string) bool {
	_, err := v1.NewHash(version)
	return err == nil
}

// IsExact reports whether a version can be a tag. Tags cannot have build
// metadata.
func IsExact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil && !strings.Contains(version, "+")
}

// Allows reports whether a constraint allows a tag. It is false if either is
// invalid.
func Allows(constraint, tag string) bool {
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(tag)
	return err == nil && c.Check(v)
}

// highest returns the tag of the highest version that a constraint allows. Of
// tags with one version, such as v1 and v1.0.0, it returns the longest, and
// then the last in byte order.
func highest(tags []string, constraint *semver.Constraints) (string, bool) {
	var best *semver.Version
	for _, tag := range tags {
		v, err := semver.NewVersion(tag)
		if err == nil && constraint.Check(v) && (best == nil || compare(v, best) > 0) {
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
