package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Layer is a layer that FromLayers adds to base images.
type Layer struct {
	// Key identifies the content. FromLayers calls Write once for all layers with the same
	// key, and these layers share one blob.
	Key string
	// Write writes the uncompressed tar. Its bytes must depend only on the content: sorted
	// entries, fixed times and owners.
	Write func(io.Writer) error
	// Cache is a folder in which FromLayers keeps the compressed layer for its next call, by
	// Key, which must then identify the content on this machine. Empty keeps nothing.
	Cache string
	// History describes the layer in the image's config. FromLayers sets its time.
	History v1.History
}

// A Layered describes images that FromLayers creates.
type Layered struct {
	// Base are the base images. Nil means a minimal image: root certificates, a user other
	// than root, and an empty /tmp. FromLayers takes ownership of Base: FromLayers closes it
	// on an error, and otherwise the returned Images do.
	Base *Images
	// Platforms are the Linux platforms of the images, in order. Empty means all Linux
	// images of Base.
	Platforms []v1.Platform
	// Layers returns what is added to a base image, the lowest layer first. FromLayers calls
	// it concurrently, once for each platform.
	Layers func(ctx context.Context, t Target) ([]Layer, Config, error)
}

// A Target is one image to create.
type Target struct {
	Platform v1.Platform
	Base     v1.Image
	// TempDir is an empty folder for the files that the image needs until it is written.
	TempDir string
}

// FromLayers adds layers to base images and changes their configs. If a base image is
// itself a package, FromLayers leaves out the layers of the package and replaces the history
// by one empty entry for each layer. The caller must close the images.
func FromLayers(ctx context.Context, l Layered, opts Options) (*Images, error) {
	return create(l.Base, opts, func(s *spool) (*Images, error) {
		targets, err := s.targets(ctx, l, opts)
		if err != nil {
			return nil, err
		}
		b := &layering{Layered: l, opts: opts, spool: s}
		all := &Images{spool: s, All: make([]v1.Image, len(targets))}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(max(2, runtime.GOMAXPROCS(0)))
		for i, t := range targets {
			t.TempDir = filepath.Join(s.dir, strconv.Itoa(i))
			g.Go(func() (err error) {
				all.All[i], err = b.image(ctx, t)
				return err
			})
		}
		return all, g.Wait()
	})
}

func (s *spool) targets(ctx context.Context, l Layered, opts Options) ([]Target, error) {
	if l.Base != nil && len(l.Platforms) == 0 {
		return l.Base.targets()
	}
	if err := checkPlatforms(l.Platforms); err != nil {
		return nil, err
	}
	all := make([]Target, len(l.Platforms))
	if l.Base == nil {
		bases, err := s.minimal(ctx, l.Platforms, opts.Created)
		for i, base := range bases {
			all[i] = Target{Platform: l.Platforms[i], Base: base}
		}
		return all, err
	}
	for i, p := range l.Platforms {
		base, err := l.Base.Of(p)
		if err != nil {
			return nil, fmt.Errorf("choosing a base image: %w", err)
		}
		all[i] = Target{Platform: p, Base: base}
	}
	return all, nil
}

// targets returns a target for each image. An image for another system than Linux is an error.
func (i *Images) targets() ([]Target, error) {
	if err := i.onLinux(); err != nil {
		return nil, fmt.Errorf("choosing a base image: %w", err)
	}
	available, err := platforms(i.All)
	if err != nil {
		return nil, err
	}
	all := make([]Target, len(i.All))
	for n, p := range available {
		all[n] = Target{Platform: p, Base: i.All[n]}
	}
	return all, nil
}

func checkPlatforms(platforms []v1.Platform) error {
	if len(platforms) == 0 {
		return errors.New("making a runtime image: no platform is given")
	}
	seen := map[string]bool{}
	for _, p := range platforms {
		if p.OS != "linux" || p.Architecture == "" {
			return fmt.Errorf("making a runtime image for %q: expected a linux platform, such as linux/amd64", p)
		}
		if seen[p.String()] {
			return fmt.Errorf("making a runtime image: %s is given twice", p)
		}
		seen[p.String()] = true
	}
	return nil
}

// A layering creates the images of a Layered.
type layering struct {
	Layered
	opts  Options
	spool *spool
	blobs proc.Memo[string, archive.Layer] // the written layers, by key
}

func (b *layering) image(ctx context.Context, t Target) (v1.Image, error) {
	if err := os.Mkdir(t.TempDir, 0o700); err != nil {
		return nil, fmt.Errorf("making a temporary directory: %w", err)
	}
	layers, config, err := b.Layers(ctx, t)
	if err != nil {
		return nil, err
	}
	added := make([]addition, len(layers))
	for i, l := range layers {
		blob, err := b.blobs.Do(l.Key, func() (archive.Layer, error) { return b.write(ctx, l) })
		if err != nil {
			return nil, err
		}
		added[i] = addition{blob, l.History}
	}
	return extend(t.Base, b.opts.Created, added, config)
}
