package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/xpkg"
)

func (c *collector) packageFile(ctx context.Context, path string) (err error) {
	f, err := xpkg.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return c.artifact(ctx, f.Artifact, path, c.functions...)
}

func (c *collector) registry(ctx context.Context, d requirement) error {
	if len(c.packages) > maxPackages {
		return fmt.Errorf("there are more than %d packages to read", maxPackages)
	}
	if c.Offline {
		return c.cached(ctx, d)
	}
	err := c.fetch(ctx, d)
	if err != nil && d.by != "" {
		before := hint.Of(err)
		err = &DependencyError{d.by, err}
		if c.Faulty == nil || ctx.Err() != nil {
			return hint.Wrap(err, cmp.Or(before, "leave dependencies out with "+hint.Dependencies+"=none"))
		}
		c.Faulty(hint.Wrap(err, hint.Or(before, "leave packages that files name out with "+hint.Offline)))
		return nil
	}
	return err
}

// artifact adds the CRDs of a package, and queues its dependencies if Follow selects the
// package. functions are possible names of the function to which the package belongs.
func (c *collector) artifact(ctx context.Context, a xpkg.Artifact, name string, functions ...string) error {
	d, err := Artifact(ctx, a, Options{Search: true})
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if d.Package == nil {
		return c.image(ctx, a, name)
	}
	isFunction := d.Package.Kind == "Function"
	if isFunction {
		c.functions = slices.DeleteFunc(append(functions, d.Package.Name), func(s string) bool { return s == "" })
		defer func() { c.functions = nil }()
	}
	for _, o := range d.Package.Objects {
		if !crd.Defines(o.Data()) || c.Offline && c.Cache != nil && !isFunction {
			continue
		}
		if err := c.add(o.Data(), manifest.Document{Path: name}); err != nil {
			err = c.faulty(fmt.Errorf("reading %s %q of %q: %w", o.Kind, o.Name, name, err))
			if err != nil {
				return err
			}
		}
	}
	if c.Follow == FollowAll || c.Follow != FollowNone && d.Package.Kind == "Configuration" {
		c.depend(d.Package.DependsOn, func(int) string { return name })
	}
	return nil
}

// resolve returns the reference of a package, with its digest if there is a Lock.
func (c *collector) resolve(ctx context.Context, r requirement, tags lock.Tags) (name.Reference, error) {
	d := lock.Dependency{Package: r.pkg, Version: r.version}
	parse := func(s string) (name.Reference, error) { return remote.ParseReference(s, c.Registry) }
	if c.Lock == nil {
		return d.Resolve(ctx, tags, parse)
	}
	locked, err := c.Lock.Reference(d, parse)
	if err != nil {
		return nil, err
	}
	ref, err := parse(locked)
	if err != nil {
		return nil, err
	}
	return c.Lock.Pin(ref)
}

// fetch reads a package from its registry, and adds its CRDs.
func (c *collector) fetch(ctx context.Context, r requirement) error {
	client := cmp.Or(c.Remote, remote.New(remote.Options{}))
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
