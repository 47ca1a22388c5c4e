package crds

import (
	"context"
	"fmt"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/pull"
	"github.com/xfn-dev/xfn/internal/remote"
)

// fetch takes the CRDs of a package in a registry.
func (c *collector) fetch(ctx context.Context, d dependency) error {
	client := c.Remote
	if client == nil {
		client = remote.New(remote.Options{})
	}
	full, err := c.reference(ctx, client, d)
	if err != nil {
		return err
	}
	ref, err := remote.ParseReference(full, c.Registry)
	if err != nil {
		return err
	}
	c.Progress.Step("reading " + full)
	a, err := pull.Artifact(ctx, ref, pull.Options{Remote: client})
	if err != nil {
		return err
	}
	return client.Explain(ref, c.artifact(ctx, a, full))
}

// reference returns the reference of a package: as it is named, or of the version
// that is asked for. A constraint means the highest tag that it allows, as for
// Crossplane's package manager.
func (c *collector) reference(ctx context.Context, client *remote.Client, d dependency) (string, error) {
	if d.version == "" {
		return d.pkg, nil
	}
	if _, err := v1.NewHash(d.version); err == nil {
		return d.pkg + "@" + d.version, nil
	}
	if _, err := semver.StrictNewVersion(trimV(d.version)); err == nil {
		return d.pkg + ":" + d.version, nil
	}
	constraint, err := semver.NewConstraint(d.version)
	if err != nil {
		return "", fmt.Errorf("reading the version %q of %q: it is neither a constraint nor a digest", d.version, d.pkg)
	}
	// A reference of any tag tells the repository.
	any, err := remote.ParseTag(d.pkg+":v0", c.Registry)
	if err != nil {
		return "", err
	}
	tags, err := list(ctx, client, any.Context())
	if err != nil {
		return "", fmt.Errorf("listing the versions of %q: %w", d.pkg, client.Explain(any, err))
	}
	tag, ok := highest(tags, constraint)
	if !ok {
		err := fmt.Errorf("finding a version of %q: none of its %d tags is %s", d.pkg, len(tags), d.version)
		return "", hint.Wrap(err, "change the version in dependsOn")
	}
	return d.pkg + ":" + tag, nil
}

func trimV(version string) string {
	if len(version) > 1 && version[0] == 'v' {
		return version[1:]
	}
	return version
}

// maxTags bounds how many tags of a repository are read.
const maxTags = 100_000

func list(ctx context.Context, client *remote.Client, repo name.Repository) ([]string, error) {
	puller, err := ggcr.NewPuller(client.Options(ctx)...)
	if err != nil {
		return nil, err
	}
	lister, err := puller.Lister(ctx, repo)
	if err != nil {
		return nil, err
	}
	var all []string
	for lister.HasNext() {
		page, err := lister.Next(ctx)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Tags...); len(all) > maxTags || len(page.Tags) == 0 {
			return all, nil
		}
	}
	return all, nil
}

// highest returns the tag of the highest version that a constraint allows. Tags
// that are no versions do not count.
func highest(tags []string, constraint *semver.Constraints) (string, bool) {
	var best *semver.Version
	for _, tag := range tags {
		v, err := semver.NewVersion(tag)
		if err == nil && constraint.Check(v) && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	if best == nil {
		return "", false
	}
	return best.Original(), true
}
