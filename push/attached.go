package push

import (
	"context"
	"fmt"

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
	// tag is where it is, or empty for one that is found by its digest.
	tag string
}

func (a attachment) at(repo name.Repository) name.Reference {
	if a.tag != "" {
		return repo.Tag(a.tag)
	}
	return repo.Digest(a.result.Digest.String())
}

// attachments are all that belong to an artifact.
type attachments struct {
	all []attachment
	// lists are the referrers of each manifest that has any.
	lists map[v1.Hash][]v1.Descriptor
}

// attachments finds what is attached to the manifests of p, and to those that
// are attached.
func (s *source) attachments(ctx context.Context, p *plan, jobs int) (attachments, error) {
	found := attachments{lists: map[v1.Hash][]v1.Descriptor{}}
	seen := map[v1.Hash]bool{}
	for depth, subjects := 0, p.unseen(seen); len(subjects) > 0; depth++ {
		if depth > oci.MaxDepth {
			return found, fmt.Errorf("what is attached to it has more attached to it, more than %d deep", oci.MaxDepth)
		}
		more, err := s.attachedTo(ctx, subjects, jobs)
		if err != nil {
			return found, err
		}
		var next []v1.Hash
		for i, subject := range subjects {
			for _, a := range more[i].attachments {
				found.all, next = append(found.all, a), append(next, a.unseen(seen)...)
			}
			if len(more[i].referrers) > 0 {
				found.lists[subject] = more[i].referrers
			}
		}
		subjects = next
	}
	return found, nil
}

// unseen are the manifests that were not seen yet.
func (p *plan) unseen(seen map[v1.Hash]bool) (digests []v1.Hash) {
	for _, m := range p.manifests {
		if !seen[m.Digest] {
			seen[m.Digest] = true
			digests = append(digests, m.Digest)
		}
	}
	return digests
}

// attached is what belongs to one manifest.
type attached struct {
	attachments []attachment
	referrers   []v1.Descriptor
}

// attachedTo asks for several manifests at once what belongs to them.
func (s *source) attachedTo(ctx context.Context, subjects []v1.Hash, jobs int) ([]attached, error) {
	all := make([]attached, len(subjects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for i, subject := range subjects {
		g.Go(func() (err error) {
			if all[i], err = s.attached(ctx, subject); err != nil {
				err = fmt.Errorf("looking for what is attached to %s: %w", subject, err)
			}
			return err
		})
	}
	return all, g.Wait()
}

func (s *source) attached(ctx context.Context, subject v1.Hash) (found attached, err error) {
	for _, tag := range signature.Tags(subject) {
		m, err := s.manifest(ctx, tag)
		if remote.NotFound(err) {
			continue
		}
		if err == nil {
			err = found.add(ctx, s, m, tag)
		}
		if err != nil {
			return found, err
		}
	}
	r, err := s.repo.Referrers(ctx, subject)
	if err != nil {
		return found, s.explain(subject.String(), err)
	}
	found.referrers = r.Manifests
	for _, d := range r.Manifests {
		m, err := s.manifest(ctx, d.Digest.String())
		if err == nil {
			err = found.add(ctx, s, m, "")
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func (a *attached) add(ctx context.Context, s *source, m remote.Manifest, tag string) error {
	p, err := s.plan(ctx, m)
	a.attachments = append(a.attachments, attachment{p, tag})
	return err
}
