package crds

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/dependency"
	"github.com/xfn-dev/xfn/internal/pull"
	"github.com/xfn-dev/xfn/internal/remote"
)

// fetch takes the CRDs of a package in a registry.
func (c *collector) fetch(ctx context.Context, r requirement) error {
	client := c.Remote
	if client == nil {
		client = remote.New(remote.Options{})
	}
	ref, err := dependency.Dependency{Package: r.pkg, Version: r.version}.Resolve(ctx, pull.Tags{Remote: client}, func(s string) (name.Reference, error) {
		return remote.ParseReference(s, c.Registry)
	})
	if err != nil {
		return err
	}
	c.Progress.Step("reading " + ref.Name())
	a, err := pull.Artifact(ctx, ref, pull.Options{Remote: client})
	if err != nil {
		return err
	}
	return client.Explain(ref, c.artifact(ctx, a, ref.Name()))
}
