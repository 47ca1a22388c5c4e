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

// parallel is the number of concurrent requests.
const parallel = 4

// A Policy is a pull policy of Docker and Kubernetes.
type Policy string

// The policies.
const (
	// IfNotPresent requests only images and tags that are not in the cache.
	IfNotPresent Policy = "IfNotPresent"
	// Always resolves the reference by the registry, and fetches missing
	// blobs.
	Always Policy = "Always"
	// Never requests nothing.
	Never Policy = "Never"
)

// ParsePolicy parses a policy. An empty string is IfNotPresent.
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

// A Request describes a wanted image.
type Request struct {
	Reference name.Reference
	// Platform selects an image of an index. The zero value is Linux on
	// this machine's processor.
	Platform v1.Platform
	// Policy defaults to IfNotPresent.
	Policy Policy
}

// A Store is a cache of images in a directory. Processes and goroutines may
// share it.
type Store struct {
	blobs *blobs.Dir
	refs  refs

	mu   sync.Mutex
	held map[v1.Hash]io.Closer
}

// Open opens the cache in dir, and creates it if it does not exist.
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

// Close releases all images, which may be pruned afterwards.
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

// Image returns the requested image. All its blobs are in the cache, and cannot
// be pruned while the Store is open. Reading a layer to its end verifies its
// digest.
//
// With Options.Offline or the policy Never, a missing image is a MissingError.
func (s *Store) Image(ctx context.Context, r Request, o Options) (v1.Image, error) {
	images, err := s.Images(ctx, []Request{r}, o)
	if err != nil {
		return nil, err
	}
	return images[0], nil
}

// Images is Image for several requests, in order. It fetches shared blobs once.
// It fetches no layers if any image is missing: the MissingError names all of
// them.
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

// planAll plans all requests. It returns the error of the first request that
// failed.
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
	_ = g.Wait() // All errors are in errs.
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// finish records the resolved reference of a complete image.
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
