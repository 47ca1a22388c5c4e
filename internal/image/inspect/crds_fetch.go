package inspect

import (
	"context"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// fetch reads a package from its registry, and adds its CRDs.
func (c *collector) fetch(ctx context.Context, r requirement) error {
	client := c.Remote
	if client == nil {
		client = remote.New(remote.Options{})
	}
	ref, err := c.resolve(ctx, r, image.Tags{Remote: client, Rewrite: c.Rewrite})
	if err != nil {
		return err
	}
	c.Progress.Step("reading " + ref.Name())
	a, err := image.Artifact(ctx, ref, image.Options{Remote: client, Rewrite: c.Rewrite})
	if err != nil {
		return err
	}
	return client.Explain(ref, c.artifact(ctx, a, ref.Name(), xpkg.Label(ref.Context().RepositoryStr()), r.function))
}

// cached reads a package from Cache. A package that the cache does not have is skipped, like one
// that is not readable, because the package is not a source.
func (c *collector) cached(ctx context.Context, r requirement) error {
	ref, err := c.resolve(ctx, r, image.CachedTags{Store: c.Cache})
	if err != nil {
		return ctx.Err()
	}
	img, err := c.Cache.Image(ctx, image.Request{Reference: ref, Policy: image.Never}, image.Options{Offline: true, Rewrite: c.Rewrite})
	if err == nil {
		err = c.artifact(ctx, img, ref.Name(), xpkg.Label(ref.Context().RepositoryStr()), r.function)
	}
	if err != nil {
		return ctx.Err()
	}
	return nil
}
