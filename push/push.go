package push

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Result is the outcome of a push.
type Result struct {
	// References are the tags in full, REGISTRY/REPOSITORY:TAG.
	References []string
	// Digest is the digest of the image or index at the tags.
	Digest v1.Hash
	// MediaType is the media type of the manifest with this digest.
	MediaType types.MediaType
	// Platforms are the platforms of the images, in their order, such as
	// "linux/arm64/v8". An image without a platform has no entry.
	Platforms []string
	// Signature is the full reference of the package's signatures, if Options.SignKey
	// is set. Signed is true if a signature was added, and false if a signature by this
	// key existed already.
	Signature string
	Signed    bool
	// Attested is how many of Options.Attestations were added. The key had signed the others
	// already.
	Attested int
	Traffic
}

// Traffic counts the bytes of blobs.
type Traffic struct {
	// Sent was uploaded, Mounted is mounted from another repository, and Skipped
	// was in the repository already. Their sum is the size of the package.
	Sent    int64 `json:"sent"`
	Mounted int64 `json:"mounted"`
	Skipped int64 `json:"skipped"`
	// Retried was uploaded again after failures.
	Retried int64 `json:"retried"`
}

// Artifact pushes a, an image or an index, to ref. It uploads the blobs that the
// registry lacks, then the manifests by digest, children first, and writes the tags
// last. It does not change manifests, so all digests stay the same. If all tags point
// to a already, Artifact changes nothing.
//
// An error names ref and says which blobs were uploaded and which tags were
// written. It contains no credentials.
func Artifact(ctx context.Context, ref name.Tag, a xpkg.Artifact, o Options) (Result, error) {
	if err := o.complete(ref.Context()); err != nil {
		return Result{}, fmt.Errorf("pushing %q: %w", ref.Name(), err)
	}
	p, err := planOf(ctx, a)
	if err != nil {
		return Result{}, fmt.Errorf("reading the package for %q: %w", ref.Name(), err)
	}
	w := newWork(p, ref, o, "pushing "+ref.Name())
	if err := w.setStatements(); err != nil {
		return Result{}, fmt.Errorf("pushing %q: %w", ref.Name(), err)
	}
	err = w.connect(ctx)
	if err == nil {
		err = w.do(ctx)
	}
	w.end(err)
	if err != nil {
		return Result{}, fmt.Errorf("pushing %q: %w%s", ref.Name(), o.client.Explain(ref, err), w.state(err))
	}
	return w.finished(), nil
}

type work struct {
	*plan
	Options
	refs []name.Reference // the tags or the digest to push to
	text string           // what Progress reports
	// statements are the in-toto Statements to attest.
	statements [][]byte
	to         *remote.Uploader

	// mu guards Progress, traffic, moving and ready.
	mu      sync.Mutex
	traffic Traffic
	moving  int64  // bytes that were sent, including bytes of incomplete blobs
	ready   int    // number of blobs that are in the registry
	moved   []bool // for each of refs, whether it points to the package
	signed  bool   // whether the signature is in the registry
	asked   int    // how many tags the registry was asked to write
}

func newWork(p *plan, ref name.Tag, o Options, text string) *work {
	w := &work{plan: p, Options: o, refs: []name.Reference{ref}, text: text}
	for _, t := range o.Tags {
		w.refs = append(w.refs, t)
	}
	return w
}

func (w *work) connect(ctx context.Context) (err error) {
	repo := w.refs[0].Context()
	w.to, err = w.client.Uploader(ctx, repo, w.neighbors(repo, w.MountFrom)...)
	return err
}

func (w *work) finished() Result {
	result := w.result
	result.Traffic = w.traffic
	for _, r := range w.refs {
		result.References = append(result.References, r.Name())
	}
	return result
}

func (w *work) do(ctx context.Context) error {
	if err := w.uploadBlobs(ctx); err != nil {
		return err
	}
	return w.pushManifests(ctx)
}

func (w *work) uploadBlobs(ctx context.Context) error {
	current, err := w.resolveTags(ctx)
	if err != nil {
		return err
	}
	if current {
		w.traffic.Skipped = w.size // A registry that has the manifest has its blobs, too.
		return nil
	}
	if w.Prove {
		if err := w.prove(ctx, w.Jobs); err != nil {
			return err
		}
	}
	return w.sendBlobs(ctx, w.to.Find)
}

// pushManifests pushes the manifests and the signature. If the registry lacks a
// blob that it has reported, pushManifests uploads all blobs and tries again.
func (w *work) pushManifests(ctx context.Context) error {
	if w.DryRun {
		return w.sign(ctx)
	}
	err := w.tag(ctx)
	if !remote.LacksBlob(err) {
		return err
	}
	// The registry has reported blobs that it lacks, so upload all.
	w.traffic, w.moving, w.ready = Traffic{}, 0, 0
	absent := func(context.Context, v1.Descriptor) (remote.Found, error) { return remote.Found{}, nil }
	if err := w.sendBlobs(ctx, absent); err != nil {
		return err
	}
	return w.tag(ctx)
}

// resolveTags finds out which tags point to the package already, and reports
// whether one does.
func (w *work) resolveTags(ctx context.Context) (bool, error) {
	w.moved = make([]bool, len(w.refs))
	for i, r := range w.refs {
		at, err := w.to.ManifestAt(ctx, r.Identifier())
		if err != nil {
			return false, err
		}
		w.moved[i] = at == w.result.Digest
	}
	return slices.Contains(w.moved, true), nil
}

// sendBlobs uploads or mounts the blobs that find does not find, up to w.Jobs at a time.
func (w *work) sendBlobs(ctx context.Context, find func(context.Context, v1.Descriptor) (remote.Found, error)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(w.Jobs)
	for _, b := range w.blobs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			found, err := find(ctx, b.Descriptor)
			if err != nil {
				return err
			}
			return w.sendBlob(ctx, b, found)
		})
	}
	return g.Wait()
}

func (w *work) sendBlob(ctx context.Context, b remote.Blob, found remote.Found) (err error) {
	up := remote.Upload{Mounted: found.At != name.Repository{}}
	b.Progress = w.advance
	if !w.DryRun && !found.Exists {
		err = oci.RetryMismatch(func() error {
			up, err = w.to.Upload(ctx, b, found)
			return err
		})
		if err != nil {
			return err
		}
	}
	if found.Exists || up.Mounted || w.DryRun {
		w.advance(b.Size)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready++
	w.traffic.Retried += up.Again
	switch {
	case found.Exists:
		w.traffic.Skipped += b.Size
	case up.Mounted:
		w.traffic.Mounted += b.Size
	default:
		w.traffic.Sent += b.Size
	}
	return nil
}

func (w *work) advance(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moving += n; w.moving < w.size {
		w.report(w.moving)
	}
}

// end reports complete progress if err is nil. After it nothing is reported,
// although a canceled request may still read its body.
func (w *work) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.report(w.size)
	}
	w.Progress = nil
}

func (w *work) report(done int64) {
	if w.Progress != nil {
		w.Progress(w.text, done, w.size)
	}
}

// tag pushes the manifests by their digests, then the signature, and then writes the tags.
func (w *work) tag(ctx context.Context) error {
	last := len(w.manifests) - 1
	byDigest := w.manifests[:last]
	if w.signer != nil {
		byDigest = w.manifests
	}
	if !slices.Contains(w.moved, true) {
		for _, m := range byDigest {
			if err := w.to.PutManifest(ctx, m.Digest.String(), m.MediaType, m.Raw); err != nil {
				return err
			}
		}
	}
	if err := w.sign(ctx); err != nil {
		return err
	}
	for i, r := range w.refs {
		if w.moved[i] {
			continue
		}
		w.asked = i + 1
		if err := w.to.PutManifest(ctx, r.Identifier(), w.result.MediaType, w.manifests[last].Raw); err != nil {
			return err
		}
		w.moved[i] = true
	}
	return nil
}

// state describes what a failed push has changed, for its error.
func (w *work) state(err error) string {
	if w.moved == nil {
		return "" // The push failed before it changed anything.
	}
	text := w.arrived()
	if w.signer != nil && !w.signed {
		text += ", the package may be without its signature"
	}
	for i, r := range w.refs {
		how := "was not changed"
		switch {
		case w.moved[i]:
			how = "is at the new package"
		case i < w.asked && !remote.Refused(err):
			how = "may be at the old or the new package"
		}
		text += fmt.Sprintf(", tag %q %s", r.Identifier(), how)
	}
	return text
}

// arrived describes which blobs are known to be in the registry. A registry
// that was not asked for all blobs may have more.
func (w *work) arrived() string {
	switch all := len(w.blobs); {
	case slices.Contains(w.moved, true):
		return "; all blobs are in the registry"
	case w.ready == all:
		return fmt.Sprintf("; %d of %d blobs are in the registry", all, all)
	case w.ready == 0:
		return fmt.Sprintf("; none of %d blobs is known to be in the registry", all)
	default:
		return fmt.Sprintf("; at least %d of %d blobs are in the registry", w.ready, all)
	}
}
