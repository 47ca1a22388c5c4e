package project

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
)

// Push pushes the packages of a set with a tag: the functions, up to jobs at a time, then the
// Configuration, which depends on them. If a function cannot be pushed, the tag of the
// Configuration is not moved. The attestations come from the set. The results are in the order of
// Set.Packages.
func Push(ctx context.Context, s *Set, tag string, jobs int, o push.Options) ([]push.Result, error) {
	packages := s.Packages()
	results := make([]push.Result, len(packages))
	o = shared(o)
	err := inOrder(ctx, len(packages), jobs, func(ctx context.Context, i int) error {
		ref, err := remote.ParseTag(packages[i].Repository+":"+tag, "")
		if err != nil {
			return err
		}
		o := o
		o.Attestations = s.Attestations[packages[i].Repository]
		results[i], err = push.Artifact(ctx, ref, packages[i].Artifact, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pushing the project: %w", err)
	}
	return results, nil
}

// Copy copies the packages of a project with their digests and attachments: the functions, up
// to jobs at a time, then the Configuration. from is the Configuration of s, and to its new
// tag, which the functions get, too. The copied Configuration still depends on the functions
// in the repositories that the project was built for.
func Copy(ctx context.Context, s *Set, from name.Reference, to name.Tag, jobs int, o push.CopyOptions) ([]push.CopyResult, error) {
	packages := s.Packages()
	results := make([]push.CopyResult, len(packages))
	o.Options = shared(o.Options)
	err := inOrder(ctx, len(packages), jobs, func(ctx context.Context, i int) error {
		source, target := from, to
		if i < len(s.Functions) {
			suffix := packages[i].Repository[len(s.Repository):]
			digest, err := packages[i].Artifact.Digest()
			if err != nil {
				return fmt.Errorf("finding the digest of %q: %w", packages[i].Repository, err)
			}
			repo, err := name.NewRepository(from.Context().Name() + suffix)
			if err != nil {
				return err
			}
			source = repo.Digest(digest.String())
			if target, err = remote.ParseTag(to.Context().Name()+suffix+":"+to.TagStr(), ""); err != nil {
				return err
			}
		}
		var err error
		results[i], err = push.Copy(ctx, source, target, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copying the project: %w", err)
	}
	return results, nil
}

// inOrder calls do for all packages but the last, up to jobs at a time, and then for the
// last, unless one has failed.
func inOrder(ctx context.Context, n, jobs int, do func(context.Context, int) error) error {
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(max(1, jobs))
	for i := range n - 1 {
		g.Go(func() error { return do(each, i) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("the Configuration was not changed, because a function failed: %w", err)
	}
	return do(ctx, n-1)
}

// shared returns options whose Progress several pushes may call at once.
func shared(o push.Options) push.Options {
	if report := o.Progress; report != nil {
		var mu sync.Mutex
		o.Progress = func(text string, done, total int64) {
			mu.Lock()
			defer mu.Unlock()
			report(text, done, total)
		}
	}
	return o
}
