package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

// A Ref is a reference, such as a tag, that a cache has resolved to a digest.
type Ref struct {
	// Reference is the full name of the reference. Digest is the digest that the reference had
	// at the time Resolved.
	Reference string `json:"name"`
	Digest    string `json:"digest"`
	// Bytes is the total size of the reference's blobs in the cache. Several references may
	// share blobs.
	Bytes    int64     `json:"bytes"`
	Resolved time.Time `json:"resolved"`
	// Used is the time when the reference was last used.
	Used time.Time `json:"used"`
}

// An Info describes the content of a cache.
type Info struct {
	Usage
	// Refs are sorted by name.
	Refs []Ref
}

// Info describes the content of the cache. It does not wait for locks.
func (s *Store) Info(ctx context.Context) (Info, error) {
	usage, err := s.blobs.Usage()
	if err != nil {
		return Info{}, fmt.Errorf("listing the content of the cache: %w", err)
	}
	records, _, err := s.refs.all()
	if err != nil {
		return Info{}, fmt.Errorf("listing the content of the cache: %w", err)
	}
	info := Info{Usage: usage}
	for _, k := range records {
		info.Refs = append(info.Refs, s.ref(ctx, k))
	}
	slices.SortFunc(info.Refs, Ref.compare)
	return info, nil
}

func (r Ref) compare(other Ref) int { return cmp.Compare(r.Reference, other.Reference) }

func (s *Store) ref(ctx context.Context, k recordFile) Ref {
	r := Ref{Reference: k.Reference, Digest: k.Digest.String(), Resolved: k.Resolved, Used: k.used.UTC()}
	for h := range s.reach(ctx, k.Digest) {
		if size, err := s.blobs.Size(h); err == nil {
			r.Bytes += size
		}
	}
	return r
}

// reach returns all digests that are reachable from a manifest or index in the cache,
// including the digest of the manifest or index. It skips manifests that the cache lacks and
// invalid ones, whose blobs cannot be found.
func (s *Store) reach(ctx context.Context, top v1.Hash) map[v1.Hash]bool {
	reached, visited := map[v1.Hash]bool{top: true}, map[v1.Hash]bool{top: true}
	for queue := []v1.Hash{top}; len(queue) > 0; queue = queue[1:] {
		raw, err := s.blobs.Peek(queue[0], oci.MaxManifest)
		if err != nil {
			continue
		}
		m, err := oci.Walk{}.Manifest(ctx, oci.Embed(raw))
		if err != nil {
			continue
		}
		for _, d := range m.Blobs() {
			reached[d.Digest] = true
		}
		for _, d := range m.Manifests {
			if reached[d.Digest] = true; !visited[d.Digest] {
				visited[d.Digest] = true
				queue = append(queue, d.Digest)
			}
		}
	}
	return reached
}

// Prune removes the references that were last used before a time, blobs that no other
// reference needs, and files that killed processes left. It keeps the images that any
// process's open Store has returned. With dry set, Prune removes nothing and returns what it
// would remove.
func (s *Store) Prune(ctx context.Context, before time.Time, dry bool) (removed Info, err error) {
	use, err := s.blobs.Seize(ctx)
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, use.Close()) }()
	if removed, err = s.prune(ctx, before, dry); err != nil {
		return removed, fmt.Errorf("pruning the cache: %w", err)
	}
	return removed, nil
}

func (s *Store) prune(ctx context.Context, before time.Time, dry bool) (removed Info, err error) {
	inUse, err := s.blobs.Held()
	if err != nil {
		return removed, err
	}
	keep := map[v1.Hash]bool{}
	for digits := range inUse {
		maps.Copy(keep, s.reach(ctx, v1.Hash{Algorithm: "sha256", Hex: digits}))
	}
	records, paths, err := s.refs.all()
	if err != nil {
		return removed, err
	}
	for _, k := range records {
		reach := s.reach(ctx, k.Digest)
		used := slices.ContainsFunc(slices.Collect(maps.Keys(reach)), func(h v1.Hash) bool { return inUse[h.Hex] })
		if k.used.Before(before) && !used {
			removed.Refs = append(removed.Refs, s.ref(ctx, k))
			paths = append(paths, k.path)
			continue
		}
		maps.Copy(keep, reach)
	}
	slices.SortFunc(removed.Refs, Ref.compare)
	for _, path := range paths {
		if dry {
			break
		}
		if err := os.Remove(path); err != nil {
			return removed, fsx.Cause(err)
		}
	}
	removed.Usage, err = s.blobs.Sweep(keep, dry)
	return removed, err
}
