package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/image/blobs"
)

// parallel is how many requests are under way at once.
const parallel = 4

// A Policy says when a registry is asked for an image. The words are those of
// Docker and Kubernetes.
type Policy string

// The policies.
const (
	// IfNotPresent asks for what the cache has not got. A tag in the cache
	// means what it meant when it was pulled.
	IfNotPresent Policy = "IfNotPresent"
	// Always asks what a reference means now, and for what the cache has not
	// got of that.
	Always Policy = "Always"
	// Never asks for nothing.
	Never Policy = "Never"
)

// ParsePolicy reads a policy. Nothing is IfNotPresent.
func ParsePolicy(s string) (Policy, error) {
	switch p := Policy(s); p {
	case "":
		return IfNotPresent, nil
	case IfNotPresent, Always, Never:
		return p, nil
	default:
		return "", fmt.Errorf("unknown pull policy %q: it is one of %s, %s and %s", s, IfNotPresent, Always, Never)
	}
}

// A Request asks for an image.
type Request struct {
	Reference name.Reference
	// Platform chooses from an index. The zero value is Linux on the processor
	// of this machine.
	Platform v1.Platform
	// Policy is IfNotPresent if it is empty.
	Policy Policy
}

// A Store is a cache of images in a directory. Processes may share it, and
// goroutines a Store.
type Store struct {
	blobs *blobs.Dir
	refs  refs

	mu   sync.Mutex
	held map[v1.Hash]io.Closer
}

// Open returns the cache in dir, which is made if it is not there. Closing the
// Store lets go of its images.
func Open(dir string) (*Store, error) {
	b, err := blobs.Open(dir)
	if err != nil {
		return nil, err
	}
	r := refs{filepath.Join(dir, refsFolder)}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return nil, fmt.Errorf("opening cache %q: %w", dir, fsx.Cause(err))
	}
	return &Store{blobs: b, refs: r, held: map[v1.Hash]io.Closer{}}, nil
}

// Close lets go of all images. What they are made of may be pruned from then on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, h := range s.held {
		errs = append(errs, h.Close())
	}
	clear(s.held)
	return errors.Join(errs...)
}

// Image returns the image that r asks for. All of it is in the cache then, and
// nothing prunes it while the Store is open. Its layers are read from there,
// and reading one to its end fails if it has not its digest.
//
// With Options.Offline, and by the policy Never, nothing is fetched: what is
// missing is a MissingError.
func (s *Store) Image(ctx context.Context, r Request, o Options) (v1.Image, error) {
	images, err := s.Images(ctx, []Request{r}, o)
	if err != nil {
		return nil, err
	}
	return images[0], nil
}

// Images is Image for several, in their order. It fetches what they share
// once, and no layer before it knows that it may have all of them: a
// MissingError names every image that is missing.
func (s *Store) Images(ctx context.Context, requests []Request, o Options) ([]v1.Image, error) {
	o.Remote = o.client()
	plans, err := s.planAll(ctx, requests, o)
	if err != nil {
		return nil, err
	}
	var miss []Missing
	for _, p := range plans {
		if p.missing != nil {
			miss = append(miss, *p.missing)
		}
	}
	if err := missing(miss, o.Offline); err != nil {
		return nil, err
	}
	if err := s.fetch(ctx, plans, o.Progress); err != nil {
		return nil, err
	}
	images := make([]v1.Image, 0, len(plans))
	for _, p := range plans {
		img, err := s.finish(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("pulling %q: %w", p.name(), err)
		}
		images = append(images, img)
	}
	return images, nil
}

// planAll plans all requests. The first of them that fails is the error.
func (s *Store) planAll(ctx context.Context, requests []Request, o Options) ([]*plan, error) {
	plans, errs := make([]*plan, len(requests)), make([]error, len(requests))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, r := range requests {
		g.Go(func() error {
			plans[i], errs[i] = s.plan(ctx, r, o)
			return nil
		})
	}
	_ = g.Wait() // Errors have their places.
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// finish notes what a reference means, now that it is all there.
func (s *Store) finish(ctx context.Context, p *plan) (_ v1.Image, err error) {
	now := time.Now()
	if rec, ok := s.refs.find(p.name()); ok && rec.Digest == p.top && !p.fresh {
		s.refs.used(p.name(), now)
		return p.found.assemble(s.blobs.Open)
	}
	use, err := s.blobs.Share(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, use.Close()) }()
	err = s.refs.save(record{p.name(), p.top, now.UTC()})
	if err != nil && p.fresh {
		return nil, err
	}
	return p.found.assemble(s.blobs.Open)
}
