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

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
)

// parallel is the number of images that are resolved, or blobs that are fetched,
// concurrently.
const parallel = 4

// A Policy says when an image is pulled, as in Docker and Kubernetes.
type Policy string

// The pull policies.
const (
	// IfNotPresent sends requests only for images and tags that are not in the cache.
	IfNotPresent Policy = "IfNotPresent"
	// Always asks the registry for the digest of the reference, and fetches blobs that are not
	// in the cache.
	Always Policy = "Always"
	// Never sends no requests.
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
		return "", fmt.Errorf("unknown pull policy %q: expected %s, %s or %s", s, IfNotPresent, Always, Never)
	}
}

// A Request describes an image to get from a Store.
type Request struct {
	Reference name.Reference
	// Platform selects one image of an index. The zero value is Linux on this machine's
	// processor.
	Platform v1.Platform
	// Policy is the pull policy. The zero value means IfNotPresent.
	Policy Policy
	// Position is where the user wrote the reference, as "path:line", or "". Errors name it.
	Position string
}

// A Store is a cache of images in a directory. Processes and goroutines may share it.
type Store struct {
	dir   string
	blobs *BlobDir
	refs  refs

	mu   sync.Mutex
	held map[v1.Hash]io.Closer
}

// CheckDir returns an error if dir is "": the user has no cache directory.
func CheckDir(dir string) error {
	if dir == "" {
		return hint.Wrap(errors.New("opening the cache: the user has no cache directory, because HOME or XDG_CACHE_HOME is not an absolute path"), "set a directory with XFN_CACHE_DIR")
	}
	return nil
}

// IsStore reports whether Open has created a cache in dir.
func IsStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, usesFolder))
	return err == nil
}

// Open opens the cache in dir, and creates it if it does not exist.
func Open(dir string) (*Store, error) {
	if err := CheckDir(dir); err != nil {
		return nil, err
	}
	b, err := OpenBlobDir(dir)
	if err != nil {
		return nil, err
	}
	r := refs{filepath.Join(dir, refsFolder)}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return nil, unopened(dir, err)
	}
	return &Store{dir: dir, blobs: b, refs: r, held: map[v1.Hash]io.Closer{}}, nil
}

// Close releases all images that the Store has returned. Afterwards Prune may remove them.
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

// Image returns the requested image, and fetches blobs that are not in the cache. The image
// cannot be pruned while the Store is open. Reading a layer to its end verifies its digest.
//
// If an image is missing, but Options.Offline or the policy Never forbids fetching it, the
// error is a MissingError.
func (s *Store) Image(ctx context.Context, r Request, o Options) (v1.Image, error) {
	images, err := s.Images(ctx, []Request{r}, o)
	if err != nil {
		return nil, err
	}
	return images[0], nil
}

// Images returns the images of several requests, in the order of the requests, as Image
// does. A blob of several images is fetched once. If any image is missing and must not be
// fetched, Images fetches no layers, and the MissingError lists all such images.
func (s *Store) Images(ctx context.Context, requests []Request, o Options) ([]v1.Image, error) {
	o.Remote = o.client()
	plans, err := proc.All(parallel, requests, func(r Request) (*plan, error) { return s.plan(ctx, r, o) })
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

// finish records the digest of the request's reference, and returns the image. All blobs of
// the image must be in the cache.
func (s *Store) finish(ctx context.Context, p *plan) (v1.Image, error) {
	if err := s.record(ctx, p); err != nil {
		return nil, err
	}
	return p.found.manifest.Image(p.found.config, func(d v1.Descriptor, diffID v1.Hash) (v1.Layer, error) {
		return oci.Trusted(func() (io.ReadCloser, error) { return s.blobs.Open(d.Digest, d.Size) },
			oci.Blob{Digest: d.Digest, Size: d.Size, DiffID: diffID, MediaType: d.MediaType})
	})
}

// record records the use of the request's reference, and its digest if that is new. A cache that is
// read-only is an error only if the digest is fresh.
func (s *Store) record(ctx context.Context, p *plan) error {
	if rec, ok := s.refs.find(p.name()); ok && rec.Digest == p.top && !p.fresh {
		_ = fsx.Touch(s.refs.file(p.name()))
		return nil
	}
	return s.blobs.shared(ctx, func() error {
		err := s.refs.save(record{p.name(), p.top, time.Now().UTC()})
		if !p.fresh {
			return nil
		}
		return err
	})
}
