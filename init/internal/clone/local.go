package clone

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// readLocal reads from a repository of this machine, bare or with a work tree,
// straight out of its object store.
func readLocal(ctx context.Context, path, ref string) (Snapshot, error) {
	repo, err := open(path)
	if err != nil {
		return Snapshot{}, err
	}
	objects := repo.Storer
	hash, name, found := lookup(objects, ref)
	switch {
	case found:
	case fullHash().MatchString(ref):
		hash, name = plumbing.NewHash(ref), "HEAD"
	case shortHash().MatchString(ref):
		name = "HEAD"
		if hash, err = expand(ctx, objects, ref); err != nil {
			return Snapshot{}, err
		}
	default:
		return Snapshot{}, missing(objects, ref)
	}
	return snapshot(objects, hash, name)
}

// open opens the repository at path or, as git has it, at path with ".git".
func open(path string) (*git.Repository, error) {
	for _, p := range []string{path, path + ".git"} {
		repo, err := git.PlainOpenWithOptions(p, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
		if err == nil {
			return repo, nil
		}
		if !errors.Is(err, git.ErrRepositoryNotExists) {
			return nil, fmt.Errorf("opening repository %q: %w", p, err)
		}
	}
	return nil, fmt.Errorf("there is no git repository at %q", path)
}
