package crds

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/remote"
)

// fetch takes the CRDs of a package in a registry.
func (c *collector) fetch(ctx context.Context, r requirement) error {
	client := c.Remote
	if client == nil {
		client = remote.New(remote.Options{})
	}
	ref, err := lock.Dependency{Package: r.pkg, Version: r.version}.Resolve(ctx, image.Tags{Remote: client}, func(s string) (name.Reference, error) {
		return remote.ParseReference(s, c.Registry)
	})
	if err != nil {
		return err
	}
	c.Progress.Step("reading " + ref.Name())
	a, err := image.Artifact(ctx, ref, image.Options{Remote: client})
	if err != nil {
		return err
	}
	return client.Explain(ref, c.artifact(ctx, a, ref.Name()))
}
