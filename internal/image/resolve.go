package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

// useOnline says how something gets into the cache: asking what it means does
// not put it there.
const useOnline = "run a command that uses it, such as xfn render, once without " + hint.Offline

// A Resolved reference is what one means now.
type Resolved struct {
	// Digest is that of its manifest or index.
	Digest v1.Hash
	// Platforms are those that there are images for, as "linux/arm64/v8", sorted.
	// It is empty for an image that names none.
	Platforms []string
}

// Resolve asks the registry what a reference means; with Options.Offline, what it
// meant when it was pulled. Nothing but manifests, and the config of a single
// image, is fetched. An error is one sentence that names the reference.
func (s *Store) Resolve(ctx context.Context, ref name.Reference, o Options) (Resolved, error) {
	up := newUpstream(ctx, ref, o.client(), s.blobs)
	if !o.Offline {
		top, err := up.manifest(ctx, ref.Identifier())
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

// Tags asks registries for the tags of repositories.
type Tags struct {
	// Remote reaches the registry. It must be set.
	Remote *remote.Client
}

// Has tells whether a registry has a tag. An error is one sentence that names it.
func (t Tags) Has(ctx context.Context, tag name.Tag) (bool, error) {
	repo, err := t.Remote.Repository(ctx, tag.Context())
	if err == nil {
		_, err = repo.Manifest(ctx, tag.TagStr())
	}
	switch {
	case err == nil:
		return true, nil
	case remote.NotFound(err):
		return false, nil
	default:
		return false, fmt.Errorf("looking for %q: %w", tag.Name(), t.Remote.Explain(tag, err))
	}
}

// List returns the tags of a repository. More than 100,000 are an error. An error is
// one sentence that names the repository.
func (t Tags) List(ctx context.Context, repo name.Repository) (tags []string, err error) {
	from, err := t.Remote.Repository(ctx, repo)
	if err == nil {
		tags, err = from.Tags(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the tags of %q: %w", repo.Name(), t.Remote.Explain(repo.Tag(name.DefaultTag), err))
	}
	return tags, nil
}

// CachedTags are the tags that a cache remembers, and no registry is asked.
type CachedTags struct{ Store *Store }

// Has tells whether the cache knows what a tag means.
func (c CachedTags) Has(_ context.Context, tag name.Tag) (bool, error) {
	_, ok := c.Store.refs.find(tag.Name())
	return ok, nil
}

// List returns the tags of a repository that the cache knows. None at all is an
// error.
func (c CachedTags) List(_ context.Context, repo name.Repository) ([]string, error) {
	records, _, err := c.Store.refs.all()
	if err != nil {
		return nil, fmt.Errorf("reading what is in the cache: %w", fsx.Cause(err))
	}
	var tags []string
	for _, r := range records {
		if tag, err := name.NewTag(r.Reference); err == nil && tag.Context().Name() == repo.Name() {
			tags = append(tags, tag.TagStr())
		}
	}
	if len(tags) == 0 {
		return nil, hint.Wrap(fmt.Errorf("no image of %q is in the cache, and none must be fetched", repo.Name()), useOnline)
	}
	return tags, nil
}
