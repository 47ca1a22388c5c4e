package lock

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/image"
)

// A Plan says what Resolve must do to complete a lock.
type Plan struct {
	// Kept has the entries that stay as they are.
	Kept Lock
	// Missing are the wants that must be resolved, each once.
	Missing []Want
}

// Plan compares the entries of l with wants. It sends no requests. If again is not nil, the
// entries for which it returns true must be resolved again.
func (l *Lock) Plan(wants []Want, again func(Image) bool) Plan {
	p := Plan{Kept: Lock{Path: l.Path, Files: l.Files}}
	type listed struct {
		key
		base bool
	}
	seen := map[listed]bool{}
	for _, w := range wants {
		if seen[listed{w.key, w.Base}] {
			continue
		}
		seen[listed{w.key, w.Base}] = true
		from := l.Functions
		if w.Base {
			from = l.BaseImages
		}
		i := slices.IndexFunc(from, func(i Image) bool { return i.key() == w.key })
		if i < 0 || again != nil && again(from[i]) {
			p.Missing = append(p.Missing, w)
			continue
		}
		p.Kept.add(w, from[i])
	}
	return p
}

func (l *Lock) add(w Want, i Image) {
	if w.Base {
		l.BaseImages = append(l.BaseImages, i)
	} else {
		l.Functions = append(l.Functions, i)
	}
}

// A Resolver resolves the wants of a Plan to digests.
type Resolver struct {
	// Store and Pull resolve a reference to a digest.
	Store *image.Store
	Pull  image.Options
	// Tags finds the tags of dependencies with a version constraint.
	Tags Tags
	// Parse parses an image reference.
	Parse func(string) (name.Reference, error)
}

// parallel is the number of wants that are resolved concurrently.
const parallel = 4

// Resolve resolves the missing wants of a plan and returns the complete lock. All entries
// with a reference that was resolved get the new digest, including kept entries. Resolve
// returns the first error, with the position of its want.
func (r Resolver) Resolve(ctx context.Context, p Plan) (*Lock, error) {
	images, errs := make([]Image, len(p.Missing)), make([]error, len(p.Missing))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, w := range p.Missing {
		g.Go(func() error {
			images[i], errs[i] = r.one(ctx, w)
			return nil
		})
	}
	_ = g.Wait() // The goroutines return nil and store their errors in errs.
	l := p.Kept
	for i, w := range p.Missing {
		if errs[i] != nil {
			return nil, fmt.Errorf("locking %q: %w", w, w.At(errs[i]))
		}
		l.add(w, images[i])
	}
	for _, list := range [][]Image{l.Functions, l.BaseImages} {
		for i := range list {
			if n := slices.IndexFunc(images, func(fresh Image) bool { return fresh.Reference == list[i].Reference }); n >= 0 {
				list[i].Digest, list[i].Platforms = images[n].Digest, images[n].Platforms
			}
		}
	}
	return &l, nil
}

func (r Resolver) one(ctx context.Context, w Want) (Image, error) {
	r.Pull.Progress.Step("resolving " + w.String())
	ref, err := w.Dependency.Resolve(ctx, r.Tags, r.Parse)
	if err != nil {
		return Image{}, err
	}
	found, err := r.Store.Resolve(ctx, ref, r.Pull)
	if err != nil {
		return Image{}, err
	}
	return Image{Reference: ref.Name(), Constraint: w.key.constraint, Digest: found.Digest.String(), Platforms: found.Platforms}, nil
}

// Changes are the differences of two locks, sorted.
type Changes struct {
	Added   []Image  `json:"added"`
	Removed []Image  `json:"removed"`
	Updated []Update `json:"updated"`
	// Kept is the number of images that both locks have, without a change.
	Kept int `json:"kept"`
}

// An Update is an image whose digest or version has changed.
type Update struct {
	Image
	// Was is the image in the lock before the change.
	Was Image `json:"was"`
}

// Compare returns the changes from before to after.
func Compare(before, after *Lock) Changes {
	c := Changes{Added: []Image{}, Removed: []Image{}, Updated: []Update{}}
	c.compare(before.Functions, after.Functions)
	c.compare(before.BaseImages, after.BaseImages)
	return c
}

func (c *Changes) compare(before, after []Image) {
	index := func(list []Image, k key) int {
		return slices.IndexFunc(list, func(i Image) bool { return i.key() == k })
	}
	for _, i := range sorted(after) {
		n := index(before, i.key())
		switch {
		case n < 0:
			c.Added = append(c.Added, i)
		case before[n].Digest != i.Digest || before[n].Reference != i.Reference:
			c.Updated = append(c.Updated, Update{i, before[n]})
		default:
			c.Kept++
		}
	}
	for _, i := range sorted(before) {
		if index(after, i.key()) < 0 {
			c.Removed = append(c.Removed, i)
		}
	}
}
