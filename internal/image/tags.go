package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
)

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
