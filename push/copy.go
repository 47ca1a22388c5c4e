package push

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
)

// CopyOptions say how to copy. The zero value works.
type CopyOptions struct {
	// Options are those of pushing. MountFrom need not name the repository that
	// is copied from. SignKey adds a signature to those that are copied. Prove has
	// no effect: layers are copied as they are.
	Options
	// NoSignatures leaves out what is attached to the artifact.
	NoSignatures bool
}

// A CopyResult says what is at the tags, and what it took.
type CopyResult struct {
	// Result is that of pushing. Of an image that is in no index, Platforms has
	// nothing.
	Result
	// Attached are the references in full of what was copied with it, or was
	// there.
	Attached []string
}

// Copy copies what is at from, an image, an index or any other artifact, to the
// tag to: the same bytes of every manifest, of every platform, at the same
// digests. What is attached to any of them is copied before the tag moves:
// signatures, attestations and SBOMs at cosign's tags, and what refers to them
// (OCI distribution spec v1.1, "Listing Referrers"), and what is attached to
// that. A tag of cosign's is then at what it is at in the source, as any other
// tag; a list of referrers keeps what it has.
//
// A tag at from counts as it is when the copy begins. What the registry has
// already is not sent, and what a repository of the same registry has is
// mounted. Layers go from one registry to the other as they come, checked
// against their digests on the way; those that must not be distributed stay
// where their URLs say. Children come first and the tags last, as with Artifact.
//
// An error is one sentence that names both, without any credential, and says how
// far the copy came.
func Copy(ctx context.Context, from name.Reference, to name.Tag, o CopyOptions) (CopyResult, error) {
	if err := o.complete(); err != nil {
		return CopyResult{}, fmt.Errorf("copying %q: %w", from.Name(), err)
	}
	c := &copying{from: from, to: to, options: o}
	if err := c.read(ctx); err != nil {
		return CopyResult{}, fmt.Errorf("copying %q: %w", from.Name(), err)
	}
	err := c.do(ctx)
	c.end(err)
	if err != nil {
		return CopyResult{}, fmt.Errorf("copying %q to %q: %w%s", from.Name(), to.Name(), err, c.state(err))
	}
	result := CopyResult{Result: c.done()}
	for _, w := range c.attached {
		result.Attached = append(result.Attached, w.refs[0].Name())
		result.add(w.traffic)
	}
	return result, nil
}

func (t *Traffic) add(other Traffic) {
	t.Sent += other.Sent
	t.Mounted += other.Mounted
	t.Skipped += other.Skipped
	t.Retried += other.Retried
}

// copying is a copy on its way: the work of the artifact, and those of what is
// attached to it.
type copying struct {
	from    name.Reference
	to      name.Tag
	options CopyOptions

	*work
	attached []*work
	// lists are the referrers of each manifest that has any.
	lists map[v1.Hash][]v1.Descriptor
}

// read finds all that is to be copied, but for the blobs.
func (c *copying) read(ctx context.Context) error {
	s, err := newSource(ctx, c.options.client, c.from)
	if err != nil {
		return err
	}
	m, err := s.manifest(ctx, c.from.Identifier())
	if err != nil {
		return err
	}
	p, err := s.plan(ctx, m)
	if err != nil {
		return err
	}
	c.work = newWork(p, c.to, c.options.Options, "copying to "+c.to.Name())
	if c.options.NoSignatures {
		return nil
	}
	found, err := s.attachments(ctx, p, c.jobs)
	if err != nil && hint.Of(err) == "" {
		err = hint.Wrap(err, "copy it without its attachments, with "+hint.NoSignatures)
	}
	if err != nil {
		return err
	}
	c.lists = found.lists
	for _, a := range found.all {
		c.attached = append(c.attached, &work{
			plan: a.plan, refs: []name.Reference{a.at(c.to.Context())}, jobs: c.jobs, dry: c.dry, report: func(int64) {},
		})
	}
	return nil
}

func (c *copying) do(ctx context.Context) error {
	client := c.options.client
	if err := c.connect(ctx, slices.Concat(c.options.MountFrom, []name.Repository{c.from.Context()})); err != nil {
		return client.Explain(c.to, err)
	}
	if err := c.uploadBlobs(ctx); err != nil {
		return client.Explain(c.to, err)
	}
	if err := c.attach(ctx); err != nil {
		return err
	}
	return client.Explain(c.to, c.pushManifests(ctx))
}

// attach copies what is attached. The artifact itself need not be there yet.
func (c *copying) attach(ctx context.Context) error {
	for _, w := range c.attached {
		w.to = c.work.to
		if err := w.do(ctx); err != nil {
			ref := w.refs[0]
			return fmt.Errorf("copying %q, which is attached to it: %w", ref.Identifier(), c.options.client.Explain(ref, err))
		}
	}
	if c.dry {
		return nil
	}
	for subject, listed := range c.lists {
		if err := c.list(ctx, subject, listed); err != nil {
			return fmt.Errorf("listing what is attached to %s: %w", subject, c.options.client.Explain(c.to, err))
		}
	}
	return nil
}

// list makes the referrers of a manifest known to a registry that does not list
// them by itself: OCI distribution spec, "Referrers Tag Schema".
func (c *copying) list(ctx context.Context, subject v1.Hash, wanted []v1.Descriptor) error {
	there, err := c.work.to.Referrers(ctx, subject)
	if err != nil || there.Listed {
		return err
	}
	known := map[v1.Hash]bool{}
	for _, d := range there.Manifests {
		known[d.Digest] = true
	}
	all := there.Manifests
	for _, d := range wanted {
		if !known[d.Digest] {
			all = append(all, d)
		}
	}
	if len(all) == len(there.Manifests) {
		return nil
	}
	raw, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: all})
	if err != nil {
		return fmt.Errorf("encoding a list of referrers: %w", err)
	}
	return c.work.to.PutManifest(ctx, remote.FallbackTag(subject), types.OCIImageIndex, raw)
}
