package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
)

// A plan is a Request whose image is known but not yet fetched.
type plan struct {
	Request
	upstream *upstream
	// top is the digest that the reference refers to. fresh is true if the registry returned
	// top for this request.
	top   v1.Hash
	fresh bool
	found candidate
	// absent are the blobs that are not in the cache.
	absent  []v1.Descriptor
	missing *Missing
}

func (p *plan) name() string { return p.Reference.Name() }

// plan resolves r from the cache or the registry, and lists the missing blobs.
func (s *Store) plan(ctx context.Context, r Request, o Options) (*plan, error) {
	var err error
	if r.Reference, err = o.pin(r.Reference); err != nil {
		return nil, err
	}
	if _, ok := r.Reference.(name.Digest); ok && o.Pin != nil && r.Policy == Always {
		r.Policy = IfNotPresent // A digest never changes.
	}
	from, err := source(r.Reference, o.Rewrite)
	if err != nil {
		return nil, err
	}
	up := newUpstream(ctx, from, o.Remote, s.blobs)
	up.position = r.Position
	r.Platform = orHost(r.Platform)
	p := &plan{Request: r, upstream: up}
	mayFetch := !o.Offline && r.Policy != Never
	if r.Policy != Always || o.Offline {
		err := s.look(ctx, p)
		if err == nil && (mayFetch || len(p.absent) == 0) {
			return p, nil
		}
		if err != nil && !mayDiffer(err, r, mayFetch) {
			return nil, up.explain(err)
		}
	}
	if !mayFetch {
		p.missing = s.miss(p)
		return p, nil
	}
	return p, up.explain(s.ask(ctx, p))
}

// mayDiffer reports whether the registry may have the image although the cache returned
// err: the cache lacks a blob, or the tag may now refer to an image with the platform.
func mayDiffer(err error, r Request, mayFetch bool) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, isTag := r.Reference.(name.Tag)
	return isTag && mayFetch && errors.As(err, new(*PlatformError))
}

// look finds the image of a request in the cache, and lists its missing layers in p.absent.
// If the reference, a manifest or the config is not in the cache, the error is
// fs.ErrNotExist.
func (s *Store) look(ctx context.Context, p *plan) error {
	h, err := s.known(p.Reference)
	if err != nil {
		return err
	}
	top, err := s.top(h)
	if err != nil {
		return err
	}
	return s.choose(ctx, p, top, s.walk())
}

// top returns the descriptor of a manifest in the cache. The descriptor embeds the manifest.
func (s *Store) top(h v1.Hash) (v1.Descriptor, error) {
	raw, err := s.blobs.Read(h, oci.MaxManifest)
	return oci.Embed(raw), err
}

func (s *Store) walk() oci.Walk {
	return oci.Walk{Budget: oci.NewBudget(), Read: func(_ context.Context, d v1.Descriptor) ([]byte, error) {
		return s.blobs.Read(d.Digest, oci.MaxMetadata)
	}}
}

// known returns the digest of a reference: the digest in the reference, or the digest that
// the cache recorded for the tag.
func (s *Store) known(ref name.Reference) (v1.Hash, error) {
	if d, ok := ref.(name.Digest); ok {
		return v1.NewHash(d.DigestStr())
	}
	if rec, ok := s.refs.find(ref.Name()); ok {
		return rec.Digest, nil
	}
	return v1.Hash{}, fs.ErrNotExist
}

// ask finds the image of a request in the registry. It stores the manifests and config in
// the cache.
func (s *Store) ask(ctx context.Context, p *plan) error {
	top, err := p.upstream.manifest(ctx, p.upstream.ref.Identifier())
	if err != nil {
		return err
	}
	p.fresh = true
	return s.choose(ctx, p, top, p.upstream.walk())
}

// choose chooses the image for the request's platform, protects it from Prune, and lists its
// absent blobs.
func (s *Store) choose(ctx context.Context, p *plan, top v1.Descriptor, w oci.Walk) (err error) {
	if p.found, err = find(ctx, w, top, p.Platform); err != nil {
		return err
	}
	p.top = top.Digest
	if err := s.hold(ctx, p.found.manifest); err != nil {
		return err
	}
	p.absent = nil
	for _, d := range p.found.manifest.Blobs() {
		if !s.blobs.Has(d.Digest, d.Size) {
			p.absent = append(p.absent, d)
		}
	}
	return nil
}

// hold protects an image from Prune until the Store is closed.
func (s *Store) hold(ctx context.Context, m *oci.Manifest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[m.Digest] != nil {
		return nil
	}
	return s.blobs.shared(ctx, func() error {
		held, err := s.blobs.Hold(ctx, m.Digest.Hex)
		if err != nil {
			return err
		}
		s.held[m.Digest] = held
		return s.blobs.Put(ctx, m.Digest, m.Raw)
	})
}

// miss returns the Missing of a request whose image is not complete in the cache and must
// not be fetched.
func (s *Store) miss(p *plan) *Missing {
	m := &Missing{Reference: p.name(), Platform: p.Platform, Never: p.Policy == Never, Position: p.Position}
	if h, err := s.known(p.Reference); err == nil {
		m.Digest = h.String()
	}
	for _, d := range p.absent {
		m.Bytes += d.Size
	}
	return m
}

// fetch fetches the absent blobs of all plans. A blob that several plans need is fetched
// once.
func (s *Store) fetch(ctx context.Context, plans []*plan, report progress.Func) error {
	m := &meter{report: report, text: fmt.Sprintf("pulling %d images", len(plans))}
	if len(plans) == 1 {
		m.text = "pulling " + plans[0].name()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	from := map[v1.Hash]*upstream{}
	var wanted []v1.Descriptor
	for _, p := range plans {
		for _, d := range p.absent {
			if from[d.Digest] == nil {
				from[d.Digest] = p.upstream
				wanted = append(wanted, d)
				m.total += d.Size
			}
		}
	}
	for _, d := range wanted {
		up := from[d.Digest]
		g.Go(func() error {
			return up.explain(up.fetch(ctx, d, m.moved))
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	m.end()
	return nil
}

type meter struct {
	report progress.Func
	text   string
	total  int64
	done   atomic.Int64
}

func (m *meter) moved(n int64) {
	m.report.Send(progress.Event{Kind: progress.Bytes, Text: m.text, Done: m.done.Add(n), Total: m.total})
}

// end reports the bytes that other processes fetched, so that the last event reports the
// total.
func (m *meter) end() {
	if m.total > 0 {
		m.moved(m.total - m.done.Load())
	}
}

// An upstream is the repository of a reference in its registry.
type upstream struct {
	ref    name.Reference
	client *remote.Client
	blobs  *BlobDir
	// repository logs in at its first call.
	repository func() (*remote.Repository, error)
	position   string // of the reference, or ""
}

func newUpstream(ctx context.Context, ref name.Reference, client *remote.Client, b *BlobDir) *upstream {
	repository := sync.OnceValues(func() (*remote.Repository, error) { return client.Repository(ctx, ref.Context()) })
	return &upstream{ref: ref, client: client, blobs: b, repository: repository}
}

// explain returns an error that names the reference and describes err for users.
func (u *upstream) explain(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("pulling %q: %w", u.ref.Name(), u.client.Explain(u.ref, err))
	if u.position != "" {
		return fmt.Errorf("%s: %w", u.position, err)
	}
	return err
}

// manifest fetches the manifest at a tag or digest and stores it in the cache. The returned
// descriptor embeds the manifest.
func (u *upstream) manifest(ctx context.Context, reference string) (v1.Descriptor, error) {
	repo, err := u.repository()
	if err != nil {
		return v1.Descriptor{}, err
	}
	m, err := repo.Manifest(ctx, reference)
	if err != nil {
		return v1.Descriptor{}, err
	}
	d := oci.Embed(m.Raw)
	return d, u.blobs.Put(ctx, d.Digest, d.Data)
}

// walk returns a Walk that reads manifests and configs from the cache, and
// fetches missing ones.
func (u *upstream) walk() oci.Walk {
	return oci.Walk{Budget: oci.NewBudget(), Read: func(ctx context.Context, d v1.Descriptor) ([]byte, error) {
		raw, err := u.blobs.Read(d.Digest, oci.MaxMetadata)
		if !errors.Is(err, fs.ErrNotExist) {
			return raw, err
		}
		if d.MediaType.IsImage() || d.MediaType.IsIndex() {
			m, err := u.manifest(ctx, d.Digest.String())
			return m.Data, err
		}
		if err := u.fetch(ctx, d, func(int64) {}); err != nil {
			return nil, err
		}
		return u.blobs.Read(d.Digest, oci.MaxMetadata)
	}}
}

func (u *upstream) fetch(ctx context.Context, d v1.Descriptor, moved func(bytes int64)) error {
	repo, err := u.repository()
	if err != nil {
		return err
	}
	open := func(ctx context.Context, from int64) io.ReadCloser { return repo.Stream(ctx, d, from) }
	return u.blobs.Fetch(ctx, d, open, moved)
}

// A Missing is an image that is not complete in the cache and must not be fetched.
type Missing struct {
	// Reference is the full name of the image.
	Reference string
	Platform  v1.Platform
	// Digest is the digest of the image's manifest or index. It is empty if the cache knows no
	// digest for the tag.
	Digest string
	// Bytes is the size of the missing blobs, or 0 if the size is unknown.
	Bytes int64
	// Never is true if the pull policy Never forbids fetching the image.
	Never bool
	// Position is the Position of the Request.
	Position string
}

// String returns the image's reference and platform, and its known properties.
func (m Missing) String() string {
	var known []string
	if m.Digest != "" && !strings.HasSuffix(m.Reference, m.Digest) {
		known = append(known, m.Digest)
	}
	if m.Bytes > 0 {
		known = append(known, fmt.Sprintf("%d bytes", m.Bytes))
	}
	if m.Never {
		known = append(known, "pull policy Never")
	}
	if m.Position != "" {
		known = append(known, "at "+m.Position)
	}
	text := fmt.Sprintf("%q for %s", m.Reference, m.Platform)
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	return text
}

// A MissingError lists all images that are not complete in the cache and must not be
// fetched, because of the pull policy or Options.Offline.
type MissingError struct{ Images []Missing }

// Error implements error. If there are several images, each is on its own line.
func (e *MissingError) Error() string {
	if len(e.Images) == 1 {
		return fmt.Sprintf("image %s is not in the cache, and must not be fetched", e.Images[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d images are not in the cache, and must not be fetched:", len(e.Images))
	for _, m := range e.Images {
		fmt.Fprintf(&b, "\n  %s", m)
	}
	return b.String()
}

// missing returns a MissingError, or nil if no image is missing.
func missing(images []Missing, offline bool) error {
	if len(images) == 0 {
		return nil
	}
	next := hint.Hint("pull once with the policy IfNotPresent")
	if offline {
		next = "run the command once without " + hint.Offline
	}
	return hint.Wrap(&MissingError{images}, next)
}
