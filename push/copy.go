package push

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// CopyOptions are the options of Copy. The zero value works.
type CopyOptions struct {
	// Options are the options of a push. The source repository is always
	// tried for mounting, and need not be in MountFrom. SignKey adds a
	// signature to the copied ones. Prove has no effect.
	Options
	// NoSignatures leaves out everything that is attached to the artifact, also SBOMs.
	NoSignatures bool
}

// A CopyResult is the outcome of a copy.
type CopyResult struct {
	// Result is the outcome of the push. Platforms is empty for an image that is
	// not in an index.
	Result
	// Attached are the full references of the attached artifacts at the destination.
	Attached []string
}

// Copy copies an image, an index or another artifact from a reference to a tag, with all
// platforms. Manifests and their digests stay the same. Copy also copies what is attached
// to the artifact, before it writes the tag: signatures, attestations and SBOMs at cosign's
// tags, referrers (OCI distribution spec v1.1, "Listing Referrers"), and what is attached
// to these. Signatures and attestations that only the destination has stay, and a list of
// referrers is extended. Another cosign tag at the destination is replaced.
//
// Copy resolves the source tag once. It mounts missing blobs that another repository of
// the registry has. It downloads the other missing blobs, uploads them at the same
// time, and verifies their digests. Layers that must not be distributed are not copied.
//
// An error names both references and says which blobs and tags were written. It
// contains no credentials.
func Copy(ctx context.Context, from name.Reference, to name.Tag, o CopyOptions) (CopyResult, error) {
	if err := o.complete(to.Context()); err != nil {
		return CopyResult{}, fmt.Errorf("copying %q: %w", from.Name(), err)
	}
	o.MountFrom = slices.Concat(o.MountFrom, []name.Repository{from.Context()})
	c := &copying{from: from, to: to, lists: map[v1.Hash][]v1.Descriptor{}}
	if err := c.read(ctx, o); err != nil {
		return CopyResult{}, fmt.Errorf("copying %q: %w", from.Name(), err)
	}
	err := c.do(ctx)
	c.end(err)
	if err != nil {
		return CopyResult{}, fmt.Errorf("copying %q to %q: %w%s", from.Name(), to.Name(), err, c.state(err))
	}
	result := CopyResult{Result: c.finished()}
	for _, w := range c.attached {
		result.Attached = append(result.Attached, w.refs[0].Name())
		result.Sent += w.traffic.Sent
		result.Mounted += w.traffic.Mounted
		result.Skipped += w.traffic.Skipped
		result.Retried += w.traffic.Retried
	}
	return result, nil
}

// copying is the state of a copy: the work for the artifact, and that for each attachment.
type copying struct {
	*work
	from     name.Reference
	to       name.Tag
	attached []*work
	// lists has the referrers of each manifest, by the manifest's digest.
	lists map[v1.Hash][]v1.Descriptor
}

func (c *copying) read(ctx context.Context, o CopyOptions) error {
	repo, err := o.client.Repository(ctx, c.from.Context())
	if err != nil {
		return o.client.Explain(c.from, err)
	}
	s := &source{o.client, c.from, repo, oci.NewBudget()}
	m, err := s.manifest(ctx, c.from.Identifier())
	if err != nil {
		return err
	}
	p, err := s.plan(ctx, m)
	if err != nil {
		return err
	}
	c.work = newWork(p, c.to, o.Options, "copying to "+c.to.Name())
	if err := c.setStatements(); err != nil {
		return err
	}
	if o.NoSignatures {
		return nil
	}
	return hint.Add(c.findAttached(ctx, s), "copy it without its attachments, with "+hint.NoSignatures)
}

func (c *copying) do(ctx context.Context) error {
	err := c.connect(ctx)
	if err == nil {
		err = c.uploadBlobs(ctx)
	}
	if err != nil {
		return c.client.Explain(c.to, err)
	}
	if err := c.attach(ctx); err != nil {
		return err
	}
	return c.client.Explain(c.to, c.pushManifests(ctx))
}

// attach copies the attachments. It runs before the destination has the artifact itself.
func (c *copying) attach(ctx context.Context) error {
	for _, w := range c.attached {
		w.to = c.work.to
		err := c.merge(ctx, w)
		if err == nil {
			err = w.do(ctx)
		}
		if err != nil {
			ref := w.refs[0]
			return fmt.Errorf("copying attachment %q: %w", ref.Identifier(), c.client.Explain(ref, err))
		}
	}
	if c.DryRun {
		return nil
	}
	for subject, listed := range c.lists {
		if err := c.list(ctx, subject, listed); err != nil {
			return fmt.Errorf("updating the list of referrers of %s: %w", subject, c.client.Explain(c.to, err))
		}
	}
	return nil
}

// list adds the referrers of a manifest to the list at its fallback tag, if the registry
// lacks the referrers API (OCI distribution spec, "Referrers Tag Schema").
func (c *copying) list(ctx context.Context, subject v1.Hash, wanted []v1.Descriptor) error {
	there, err := c.work.to.Referrers(ctx, subject)
	if err != nil || there.Listed {
		return err
	}
	all := there.Manifests
	for _, d := range wanted {
		if !slices.ContainsFunc(there.Manifests, func(have v1.Descriptor) bool { return have.Digest == d.Digest }) {
			all = append(all, d)
		}
	}
	if len(all) == len(there.Manifests) {
		return nil
	}
	return c.work.to.PutManifest(ctx, remote.FallbackTag(subject), types.OCIImageIndex, oci.EncodeIndex(nil, all...))
}

func referenceTo(repo name.Repository, tagOrDigest string) name.Reference {
	if strings.Contains(tagOrDigest, ":") {
		return repo.Digest(tagOrDigest)
	}
	return repo.Tag(tagOrDigest)
}

// findAttached finds the attachments of the artifact, and the attachments of these attachments.
func (c *copying) findAttached(ctx context.Context, s *source) error {
	seen := map[v1.Hash]bool{}
	for depth, subjects := 0, c.unseen(seen); len(subjects) > 0; depth++ {
		if depth > oci.MaxDepth {
			return fmt.Errorf("attachments are nested more than %d deep", oci.MaxDepth)
		}
		attached := make([][]*work, len(subjects))
		lists := make([][]v1.Descriptor, len(subjects))
		g, groupCtx := errgroup.WithContext(ctx)
		g.SetLimit(c.Jobs)
		for i, subject := range subjects {
			g.Go(func() (err error) {
				if attached[i], lists[i], err = c.attachedTo(groupCtx, s, subject); err != nil {
					err = fmt.Errorf("finding the attachments of %s: %w", subject, err)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		var next []v1.Hash
		for i, subject := range subjects {
			for _, w := range attached[i] {
				c.attached, next = append(c.attached, w), append(next, w.unseen(seen)...)
			}
			if len(lists[i]) > 0 {
				c.lists[subject] = lists[i]
			}
		}
		subjects = next
	}
	return nil
}

// unseen returns the digests of the plan's manifests that are not in seen, and
// adds them to seen.
func (p *plan) unseen(seen map[v1.Hash]bool) (digests []v1.Hash) {
	for _, m := range p.manifests {
		if !seen[m.Digest] {
			seen[m.Digest] = true
			digests = append(digests, m.Digest)
		}
	}
	return digests
}

// attachedTo returns the work for each attachment of a manifest, and the
// manifest's referrers.
func (c *copying) attachedTo(ctx context.Context, s *source, subject v1.Hash) (all []*work, referrers []v1.Descriptor, err error) {
	add := func(reference string, optional bool) error {
		m, err := s.manifest(ctx, reference)
		if optional && remote.NotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := s.plan(ctx, m)
		to := []name.Reference{referenceTo(c.to.Context(), reference)}
		all = append(all, &work{plan: p, Options: Options{Jobs: c.Jobs, DryRun: c.DryRun}, refs: to})
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

// merge adds the signatures or attestations that are at the destination to the plan of w,
// unless w replaces something else. A registry cannot append to a list: what another client
// adds at the same time may be lost, as with cosign.
func (c *copying) merge(ctx context.Context, w *work) error {
	tag, ok := w.refs[0].(name.Tag)
	if !ok || c.DryRun || !signature.IsList(tag.TagStr()) {
		return nil
	}
	at, err := w.to.ManifestAt(ctx, tag.TagStr())
	if err != nil || at == (v1.Hash{}) || at == w.result.Digest {
		return err
	}
	there, err := image.Attachment(ctx, tag, c.client)
	if err != nil || there == nil {
		return err
	}
	// The source's tag may have moved, or may be gone, since its manifest was read.
	from := c.from.Context().Digest(w.result.Digest.String())
	copied, err := image.Attachment(ctx, from, c.client)
	if err != nil {
		return c.client.Explain(from, err)
	}
	if copied == nil {
		return fmt.Errorf("%q was deleted during the copy", from.Name())
	}
	merged, err := signature.Merge(there, copied)
	if err != nil {
		return err
	}
	w.plan, err = planOf(ctx, merged)
	return err
}
