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
	// Options are the options of a push. Blobs are mounted from the source
	// repository without naming it in MountFrom. SignKey adds a signature to the
	// copied ones. Prove has no effect.
	Options
	// NoSignatures does not copy what is attached to the artifact.
	NoSignatures bool
}

// A CopyResult is the outcome of a copy.
type CopyResult struct {
	// Result is the outcome of the push. Platforms is empty for an image that is
	// not in an index.
	Result
	// Attached are the full references of the attached artifacts at the
	// destination.
	Attached []string
}

// Copy copies an image, an index or another artifact from a reference to a tag, with
// all platforms. Manifests and their digests stay the same. Copy also copies what
// is attached to the artifact, before it writes the tag: signatures, attestations
// and SBOMs at cosign's tags, referrers (OCI distribution spec v1.1, "Listing
// Referrers"), and what is attached to these. A cosign tag at the destination is
// replaced; a list of referrers is extended.
//
// Copy resolves the source tag once. It mounts the blobs that another repository of
// the registry has, uploads the others that are missing while it downloads them,
// and verifies their digests. Layers that must not be distributed are not copied.
//
// An error names both references and says which blobs and tags were written. It
// contains no credentials.
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
	result := CopyResult{Result: c.finished()}
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

// copying is the state of a copy: the work of the artifact, and that of its attachments.
type copying struct {
	from    name.Reference
	to      name.Tag
	options CopyOptions

	*work
	attached []*work
	// lists are the referrers of each manifest that has any.
	lists map[v1.Hash][]v1.Descriptor
}

// read reads the manifests of the artifact and of its attachments.
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
			plan: a.plan, refs: []name.Reference{referenceTo(c.to.Context(), a.reference)}, jobs: c.jobs, dry: c.dry, report: func(int64) {},
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

// attach copies the attachments. The artifact itself need not exist yet.
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

// list adds the referrers of a manifest to the fallback tag of a registry without the
// referrers API: OCI distribution spec, "Referrers Tag Schema".
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
	raw, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: all})
	if err != nil {
		return fmt.Errorf("encoding a list of referrers: %w", err)
	}
	return c.work.to.PutManifest(ctx, remote.FallbackTag(subject), types.OCIImageIndex, raw)
}
