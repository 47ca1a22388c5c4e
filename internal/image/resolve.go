package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

// useOnline is the hint for an image that is missing in the cache.
const useOnline = "run this command once without " + hint.Offline

// A Resolved is the digest and the platforms that a reference refers to.
type Resolved struct {
	// Digest is the digest of the manifest or index.
	Digest v1.Hash
	// Platforms are the platforms of the images, sorted, such as "linux/arm64/v8". An image
	// without a platform adds none.
	Platforms []string
}

// Resolve asks the registry which digest a reference has. With Options.Offline, it asks the
// cache instead. It fetches only manifests, and the config of an image without an index. An
// error is one sentence that names the reference.
func (s *Store) Resolve(ctx context.Context, ref name.Reference, o Options) (Resolved, error) {
	from, err := source(ref, o.Rewrite)
	if err != nil {
		return Resolved{}, err
	}
	up := newUpstream(ctx, from, o.client(), s.blobs)
	if !o.Offline {
		top, err := up.manifest(ctx, from.Identifier())
		if err != nil {
			return Resolved{}, up.explain(err)
		}
		r, err := resolved(ctx, up.walk(), top)
		return r, up.explain(err)
	}
	h, err := s.known(ref)
	var top v1.Descriptor
	if err == nil {
		top, err = s.top(h)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(fmt.Errorf("image %q is not in the cache, and must not be fetched", ref.Name()), useOnline)
	}
	if err != nil {
		return Resolved{}, err
	}
	return resolved(ctx, s.walk(), top)
}

func resolved(ctx context.Context, w oci.Walk, top v1.Descriptor) (Resolved, error) {
	images, err := candidates(ctx, w, top)
	if err != nil {
		return Resolved{}, err
	}
	r := Resolved{Digest: top.Digest}
	for _, i := range images {
		if i.platform.OS != "" {
			r.Platforms = append(r.Platforms, i.platform.String())
		}
	}
	slices.Sort(r.Platforms)
	r.Platforms = slices.Compact(r.Platforms)
	return r, nil
}

// Tags finds the tags of repositories in registries.
type Tags struct {
	// Remote is the client of the registries. It is required.
	Remote *remote.Client
	// Rewrite has the meaning of Options.Rewrite.
	Rewrite func(string) string
}

// Has reports whether the registry has a tag. An error is one sentence that names the tag.
func (t Tags) Has(ctx context.Context, tag name.Tag) (bool, error) {
	from, err := source(tag, t.Rewrite)
	if err != nil {
		return false, err
	}
	repo, err := t.Remote.Repository(ctx, from.Context())
	if err == nil {
		_, err = repo.Manifest(ctx, from.Identifier())
	}
	switch {
	case err == nil:
		return true, nil
	case remote.NotFound(err):
		return false, nil
	default:
		return false, fmt.Errorf("looking for %q: %w", from.Name(), t.Remote.Explain(from, err))
	}
}

// List returns the tags of a repository, up to 100,000. An error is one sentence that names
// the repository.
func (t Tags) List(ctx context.Context, repo name.Repository) (tags []string, err error) {
	from, err := source(repo.Tag(name.DefaultTag), t.Rewrite)
	if err != nil {
		return nil, err
	}
	upstream, err := t.Remote.Repository(ctx, from.Context())
	if err == nil {
		tags, err = upstream.Tags(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the tags of %q: %w", from.Context().Name(), t.Remote.Explain(from, err))
	}
	return tags, nil
}

// CachedTags finds the tags that a cache has resolved.
type CachedTags struct{ Store *Store }

// Has reports whether the cache has a tag.
func (c CachedTags) Has(_ context.Context, tag name.Tag) (bool, error) {
	_, ok := c.Store.refs.find(tag.Name())
	return ok, nil
}

// List returns the tags of a repository that the cache has resolved. It returns an error
// if no tag is known.
func (c CachedTags) List(_ context.Context, repo name.Repository) ([]string, error) {
	records, _, err := c.Store.refs.all()
	if err != nil {
		return nil, fmt.Errorf("reading the cache: %w", err)
	}
	var tags []string
	for _, r := range records {
		if tag, err := name.NewTag(r.Reference); err == nil && tag.Context().Name() == repo.Name() {
			tags = append(tags, tag.TagStr())
		}
	}
	if len(tags) == 0 {
		return nil, hint.Wrap(fmt.Errorf("no image of %q is in the cache, and fetching is not allowed", repo.Name()), useOnline)
	}
	return tags, nil
}
