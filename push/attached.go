package push

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// An attachment is an artifact that belongs to a manifest.
type attachment struct {
	*plan
	// reference is its tag, or the digest of one without a tag.
	reference string
}

// referenceTo returns the reference to a tag or digest of repo.
func referenceTo(repo name.Repository, tagOrDigest string) name.Reference {
	if strings.Contains(tagOrDigest, ":") {
		return repo.Digest(tagOrDigest)
	}
	return repo.Tag(tagOrDigest)
}

// attachments are all artifacts that belong to an artifact.
type attachments struct {
	all []attachment
	// lists are the referrers of each manifest that has any.
	lists map[v1.Hash][]v1.Descriptor
}

// attachments finds the attachments of the manifests of p, and those of the attachments.
func (s *source) attachments(ctx context.Context, p *plan, jobs int) (attachments, error) {
	found := attachments{lists: map[v1.Hash][]v1.Descriptor{}}
	seen := map[v1.Hash]bool{}
	for depth, subjects := 0, p.unseen(seen); len(subjects) > 0; depth++ {
		if depth > oci.MaxDepth {
			return found, fmt.Errorf("what is attached to it has more attached to it, more than %d deep", oci.MaxDepth)
		}
		more := make([][]attachment, len(subjects))
		lists := make([][]v1.Descriptor, len(subjects))
		g, groupCtx := errgroup.WithContext(ctx)
		g.SetLimit(jobs)
		for i, subject := range subjects {
			g.Go(func() (err error) {
				if more[i], lists[i], err = s.attachedTo(groupCtx, subject); err != nil {
					err = fmt.Errorf("looking for what is attached to %s: %w", subject, err)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return found, err
		}
		var next []v1.Hash
		for i, subject := range subjects {
			for _, a := range more[i] {
				found.all, next = append(found.all, a), append(next, a.unseen(seen)...)
			}
			if len(lists[i]) > 0 {
				found.lists[subject] = lists[i]
			}
		}
		subjects = next
	}
	return found, nil
}

// unseen returns the manifests that are not in seen, and adds them.
func (p *plan) unseen(seen map[v1.Hash]bool) (digests []v1.Hash) {
	for _, m := range p.manifests {
		if !seen[m.Digest] {
			seen[m.Digest] = true
			digests = append(digests, m.Digest)
		}
	}
	return digests
}

// attachedTo returns the attachments of one manifest, and its referrers.
func (s *source) attachedTo(ctx context.Context, subject v1.Hash) (all []attachment, referrers []v1.Descriptor, err error) {
	add := func(reference string, optional bool) error {
		m, err := s.manifest(ctx, reference)
		if optional && remote.NotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := s.plan(ctx, m)
		all = append(all, attachment{p, reference})
		return err
	}
	for _, tag := range signature.Tags(subject) {
		if err := add(tag, true); err != nil {
			return nil, nil, err
		}
	}
	r, err := s.repo.Referrers(ctx, subject)
	if err != nil {
		return nil, nil, s.explain(subject.String(), err)
	}
	for _, d := range r.Manifests {
		if err := add(d.Digest.String(), false); err != nil {
			return nil, nil, err
		}
	}
	return all, r.Manifests, nil
}
