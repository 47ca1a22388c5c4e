package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
)

// Cmd is the group.
type Cmd struct {
	Info  InfoCmd  `cmd:"" help:"Show what is in the cache."`
	Prune PruneCmd `cmd:"" help:"Remove from the cache what is not needed."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Functions that were pulled are in the cache, so that the next render needs no network.

Example:

    xfn cache prune --older-than 30d
`
}

// A format is how results are printed.
type format struct{ terminal.Format }

// print prints a value for a machine, or by text for people.
func (f format) print(w io.Writer, value any, text func(io.Writer) error) error {
	if err := f.Print(w, value, text); err != nil {
		return fmt.Errorf("printing what is in the cache: %w", err)
	}
	return nil
}

// A store is a part of the cache that looks after its own files.
type store struct {
	name  string
	info  func(ctx context.Context, dir string) (content, error)
	prune func(ctx context.Context, dir string, o old) (content, error)
}

// stores returns the parts of the cache.
func stores() []store {
	return []store{{"images", imagesInfo, imagesPrune}, {"roots", rootsInfo, rootsPrune}}
}

// old is what to prune.
type old struct {
	all    bool
	before time.Time
	dry    bool
}

// content is what a store has, or what was taken out of it.
type content struct {
	Store string `json:"store"`
	// Files is how many files there are, or unpacked images, and Bytes how large
	// they are together.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Leftovers is how many files there are that were not finished.
	Leftovers     int     `json:"leftovers"`
	LeftoverBytes int64   `json:"leftoverBytes"`
	Entries       []entry `json:"entries"`
	// noun is what Files counts, if that is not files.
	noun string
}

// An entry is something in a store that has a name.
type entry struct {
	Name     string    `json:"name"`
	Digest   string    `json:"digest"`
	Bytes    int64     `json:"bytes"`
	Resolved time.Time `json:"resolved"`
	Used     time.Time `json:"used"`
}

// contents calls of for each store.
func contents(of func(store) (content, error)) ([]content, error) {
	var all []content
	for _, s := range stores() {
		c, err := of(s)
		if err != nil {
			return nil, err
		}
		c.Store = s.name
		all = append(all, c)
	}
	return all, nil
}

func imagesInfo(ctx context.Context, dir string) (content, error) {
	return images(dir, func(s *image.Store) (image.Info, error) { return s.Info(ctx) })
}

func imagesPrune(ctx context.Context, dir string, o old) (content, error) {
	return images(dir, func(s *image.Store) (image.Info, error) {
		return s.Prune(ctx, image.Old{All: o.all, Before: o.before}, o.dry)
	})
}

func images(dir string, do func(*image.Store) (image.Info, error)) (c content, err error) {
	s, err := image.Open(dir)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	info, err := do(s)
	c = content{Files: info.Blobs, Bytes: info.Bytes, Leftovers: info.Leftovers, LeftoverBytes: info.LeftoverBytes, Entries: []entry{}}
	for _, r := range info.Refs {
		c.Entries = append(c.Entries, entry{r.Reference, r.Digest, r.Bytes, r.Resolved, r.Used.UTC()})
	}
	return c, err
}

func rootsInfo(ctx context.Context, dir string) (content, error) {
	u, err := rootfs.Used(ctx, dir)
	return roots(u), err
}

// rootsPrune removes unpacked images that are old. They can be unpacked again
// from the images as long as these are there.
func rootsPrune(ctx context.Context, dir string, o old) (content, error) {
	before := o.before
	if o.all {
		before = time.Now().AddDate(1, 0, 0)
	}
	u, err := rootfs.Prune(ctx, dir, before, o.dry)
	return roots(u), err
}

func roots(u rootfs.Usage) content {
	return content{Files: u.Roots, Bytes: u.Bytes, Entries: []entry{}, noun: "unpacked image"}
}
