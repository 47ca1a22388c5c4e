package runtimeimage

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
)

// program is the path of the compiled program in the image, without a leading slash.
const program = "function"

// A Source describes images that FromSource creates from a Go main package.
type Source struct {
	Dir string
	// Platforms are the Linux platforms to compile for. At least one is required.
	Platforms []v1.Platform
	// LDFlags and GoFlags are flags for go build: gobuild.Options.LDFlags and
	// gobuild.Options.Flags.
	LDFlags string
	GoFlags []string
	// Base are the base images, one for each platform. Nil means a minimal image: root
	// certificates, a user other than root, and an empty /tmp. FromSource takes ownership
	// of Base: FromSource closes it on an error, and otherwise the returned Images do.
	Base *Images
	// Labels are added to the config of each image.
	Labels map[string]string
}

// FromSource compiles a Go main package for each platform, concurrently, and adds the
// program to a base image as /function. The program is the entry point, listens on port 9443
// and does not run as root. Without base images, the result depends only on the source, the
// Go toolchain, the flags and opts.Created. The caller must close the images.
func FromSource(ctx context.Context, src Source, opts Options) (*Images, error) {
	return create(src.Base, opts, func(s *spool) (*Images, error) {
		return (&compiler{src, opts, s}).images(ctx)
	})
}

func (c *compiler) images(ctx context.Context) (*Images, error) {
	if err := checkPlatforms(c.Platforms); err != nil {
		return nil, err
	}
	bases, programs, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	all := &Images{spool: c.spool}
	for i, base := range bases {
		img, err := extend(base, c.opts.Created, programs[i], settings{
			entrypoint: []string{"/" + program}, labels: c.Labels,
		})
		if err != nil {
			return nil, err
		}
		all.All = append(all.All, img)
	}
	return all, nil
}

func checkPlatforms(platforms []v1.Platform) error {
	if len(platforms) == 0 {
		return errors.New("compiling a runtime image: no platform is given")
	}
	seen := map[string]bool{}
	for _, p := range platforms {
		if p.OS != "linux" || p.Architecture == "" {
			return fmt.Errorf("compiling a runtime image for %q: only linux platforms can be compiled for, such as linux/amd64", p)
		}
		if seen[p.String()] {
			return fmt.Errorf("compiling a runtime image: %s is given twice", p)
		}
		seen[p.String()] = true
	}
	return nil
}

// A compiler compiles a Source for each platform, and stores each program as a layer.
type compiler struct {
	Source
	opts  Options
	spool *spool
}

// run compiles the program for each platform and gets the base images, concurrently.
// bases and programs are in the order of Platforms.
func (c *compiler) run(ctx context.Context) (bases []v1.Image, programs []archive.Layer, err error) {
	programs = make([]archive.Layer, len(c.Platforms))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	g.Go(func() (err error) {
		bases, err = c.bases()
		return err
	})
	for i, p := range c.Platforms {
		g.Go(func() (err error) {
			programs[i], err = c.compile(ctx, p, i)
			return err
		})
	}
	err = g.Wait() // g.Wait must return before bases is read
	return bases, programs, err
}

func (c *compiler) bases() ([]v1.Image, error) {
	if c.Base == nil {
		return c.spool.minimal(c.Platforms, c.opts.Created)
	}
	bases := make([]v1.Image, len(c.Platforms))
	for i, p := range c.Platforms {
		img, err := c.Base.of(p)
		if err != nil {
			return nil, fmt.Errorf("choosing a base image: %w", err)
		}
		bases[i] = img
	}
	return bases, nil
}

// compile compiles the program for the platform p, and returns a layer that contains it.
// n makes the name of the temporary file unique.
func (c *compiler) compile(ctx context.Context, p v1.Platform, n int) (archive.Layer, error) {
	c.opts.Progress.Step("compiling " + c.Dir + " for " + p.String())
	out := filepath.Join(c.spool.dir, fmt.Sprintf("program-%d", n))
	err := gobuild.Build(ctx, gobuild.Options{
		Dir: c.Dir, GOOS: p.OS, GOARCH: p.Architecture, Variant: p.Variant, Output: out,
		LDFlags: c.LDFlags, Flags: c.GoFlags, Env: c.opts.Env,
	})
	if err != nil {
		return archive.Layer{}, err
	}
	l, err := c.spool.draft.Compress(func(w io.Writer) error { return writeProgram(w, out) })
	return l, errors.Join(err, os.Remove(out))
}

func writeProgram(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	if err := tw.WriteHeader(header(program, 0o755, info.Size())); err != nil {
		return err
	}
	if _, err := io.Copy(tw, f); err != nil {
		return err
	}
	return tw.Close()
}
