package lock

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Plan says what Resolve must do to complete a lock.
type Plan struct {
	// Kept has the entries that stay as they are.
	Kept Lock
	// Missing are the wants that must be resolved, each once.
	Missing []Want

	wants []Want
	from  Lock
	again func(Want, Image) bool
}

// Plan compares the entries of l with wants, and with the dependencies of wanted packages. It
// sends no requests. If again is not nil, the entries for which it returns true must be
// resolved again.
func (l *Lock) Plan(wants []Want, again func(Image) bool) Plan {
	return l.plan(wants, func(_ Want, i Image) bool { return again != nil && again(i) })
}

func (l *Lock) plan(wants []Want, again func(Want, Image) bool) Plan {
	p := Plan{Kept: Lock{Path: l.Path, Files: l.Files}, wants: wants, from: *l, again: again}
	seen := map[wanted]bool{}
	for queue := slices.Clone(wants); len(queue) > 0; {
		w := queue[0]
		queue = queue[1:]
		if seen[w.wanted()] {
			continue
		}
		seen[w.wanted()] = true
		from := *l.list(w)
		i := slices.IndexFunc(from, func(i Image) bool { return i.key() == w.key })
		if i < 0 || again(w, from[i]) {
			p.Missing = append(p.Missing, w)
			continue
		}
		to := p.Kept.list(w)
		*to = append(*to, from[i])
		if w.Package {
			for _, d := range from[i].Dependencies {
				queue = append(queue, dependency(d))
			}
		}
	}
	return p
}

type wanted struct {
	key
	base, pkg bool
}

func (w Want) wanted() wanted { return wanted{w.key, w.Base, w.Package} }

func (l *Lock) list(w Want) *[]Image {
	switch {
	case w.Base:
		return &l.BaseImages
	case w.Package:
		return &l.Packages
	case w.API:
		return &l.APIs
	}
	return &l.Functions
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
	// Dependencies returns the dependencies of a package. It is required if a Want is a Package.
	Dependencies func(context.Context, name.Reference) ([]Dependency, error)
	// API returns the value of Image.Digest for a Want that is an API. It is required for these.
	API func(context.Context, Dependency) (string, error)
}

// parallel is the number of wants that are resolved concurrently.
const parallel = 4

// Resolve resolves the missing wants of a plan, and the packages that they depend on, and
// returns the complete lock. All entries with a reference that was resolved get the new
// digest, including kept entries. Resolve returns the first error, with the position of its
// want.
func (r Resolver) Resolve(ctx context.Context, p Plan) (*Lock, error) {
	files, all, again := p.Kept.Files, p.from, p.again
	for _, list := range []*[]Image{&all.Functions, &all.BaseImages, &all.Packages, &all.APIs} {
		*list = slices.Clone(*list)
	}
	fresh := map[wanted]bool{}
	for len(p.Missing) > 0 {
		if len(fresh)+len(p.Missing) > maxImages {
			return nil, fmt.Errorf("locking %q: there are more than %d packages", p.wants[0], maxImages)
		}
		images, err := r.each(ctx, p.Missing)
		if err != nil {
			return nil, err
		}
		for i, w := range p.Missing {
			fresh[w.wanted()] = true
			list := all.list(w)
			*list = append(slices.DeleteFunc(*list, func(old Image) bool { return old.key() == w.key }), images[i])
		}
		all.update(images)
		p = all.plan(p.wants, func(w Want, i Image) bool { return !fresh[w.wanted()] && again(w, i) })
	}
	p.Kept.Files = files
	return &p.Kept, nil
}

// update sets the digests of entries that have the references of fresh images. It removes
// packages with another digest, because their dependencies are unknown.
func (l *Lock) update(fresh []Image) {
	for _, i := range fresh {
		for _, list := range [][]Image{l.Functions, l.BaseImages} {
			for n := range list {
				if list[n].Reference == i.Reference {
					list[n].Digest, list[n].Platforms = i.Digest, i.Platforms
				}
			}
		}
		l.Packages = slices.DeleteFunc(l.Packages, func(old Image) bool { return old.Reference == i.Reference && old.Digest != i.Digest })
	}
}

func (r Resolver) each(ctx context.Context, wants []Want) ([]Image, error) {
	return proc.All(parallel, wants, func(w Want) (Image, error) {
		i, err := r.one(ctx, w)
		if err != nil {
			return i, fmt.Errorf("locking %q: %w", w, w.At(err))
		}
		return i, nil
	})
}

func (r Resolver) one(ctx context.Context, w Want) (Image, error) {
	r.Pull.Progress.Step("resolving " + w.String())
	if w.API {
		digest, err := r.API(ctx, w.Dependency)
		return Image{Reference: w.key.name, Constraint: w.key.constraint, Digest: digest}, err
	}
	ref, err := w.Dependency.Resolve(ctx, r.Tags, r.Parse)
	if err != nil {
		return Image{}, err
	}
	found, err := r.Store.Resolve(ctx, ref, r.Pull)
	if err != nil {
		return Image{}, err
	}
	i := Image{Reference: ref.Name(), Constraint: w.key.constraint, Digest: found.Digest.String(), Platforms: found.Platforms}
	if w.Package {
		i.Dependencies, err = r.dependencies(ctx, ref.Context().Digest(i.Digest))
	}
	return i, err
}

func (r Resolver) dependencies(ctx context.Context, ref name.Reference) ([]string, error) {
	deps, err := r.Dependencies(ctx, ref)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, d := range deps {
		k, err := wantedKey(d, r.Parse)
		if err != nil {
			return nil, fmt.Errorf("reading the dependencies of %q: %w", ref, err)
		}
		all = append(all, Want{key: k}.String())
	}
	slices.Sort(all)
	return slices.Compact(all), nil
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
	c.compare(before.Packages, after.Packages)
	c.compare(before.APIs, after.APIs)
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
