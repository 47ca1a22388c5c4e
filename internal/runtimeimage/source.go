package runtimeimage

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/gobuild"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

const (
	program = "function"
	port    = "9443/tcp"
	path    = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// FromSource compiles the Go main package in dir for each platform, side by
// side, into a minimal image: the program as entry point, root certificates,
// a user other than root, an empty /tmp, port 9443. Platforms are of linux.
//
// The images depend on the source, the Go toolchain and opts.Created, and on
// nothing else. They must be closed.
func FromSource(ctx context.Context, dir string, platforms []v1.Platform, opts Options) (_ *Images, err error) {
	if err := checkPlatforms(platforms); err != nil {
		return nil, err
	}
	s, err := newSpool(opts.TempDir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	c := &compiler{dir: dir, opts: opts, spool: s}
	programs := make([]blobLayer, len(platforms))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for i, p := range platforms {
		g.Go(func() (err error) {
			programs[i], err = c.compile(ctx, p, i)
			return err
		})
	}
	base, err := c.base()
	if err := errors.Join(g.Wait(), err); err != nil {
		return nil, err
	}
	all := &Images{spool: s}
	for i, p := range platforms {
		img, err := functionImage(p, opts.Created, base, programs[i])
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

// A blobLayer is a layer and what its bytes are.
type blobLayer struct {
	v1.Layer
	blob oci.Blob
}

// A compiler turns one source into layers.
type compiler struct {
	dir   string
	opts  Options
	spool *spool
}

func (c *compiler) base() (blobLayer, error) {
	l, b, err := c.spool.layer(func(w io.Writer) error { return writeTar(w, baseFiles()) })
	return blobLayer{l, b}, err
}

// compile returns the layer that holds the program for platform number n.
func (c *compiler) compile(ctx context.Context, p v1.Platform, n int) (blobLayer, error) {
	c.opts.Progress.Step("compiling " + c.dir + " for " + p.String())
	out := filepath.Join(c.spool.dir, fmt.Sprintf("program-%d", n))
	err := gobuild.Build(ctx, gobuild.Options{
		Dir: c.dir, GOOS: p.OS, GOARCH: p.Architecture, Variant: p.Variant, Output: out, Env: c.opts.Env,
	})
	if err != nil {
		return blobLayer{}, err
	}
	l, b, err := c.spool.layer(func(w io.Writer) error { return writeProgram(w, out) })
	if err := errors.Join(err, os.Remove(out)); err != nil {
		return blobLayer{}, err
	}
	return blobLayer{l, b}, nil
}

// writeProgram writes a tar that holds the program at path.
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

// functionImage returns the image of a program for p.
func functionImage(p v1.Platform, created time.Time, layers ...blobLayer) (v1.Image, error) {
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	at := v1.Time{Time: created.UTC()}
	config := v1.ConfigFile{
		OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, OSVersion: p.OSVersion, OSFeatures: p.OSFeatures,
		Created: at,
		Config: v1.Config{
			Entrypoint:   []string{"/" + program},
			Env:          []string{path},
			User:         nonRoot,
			WorkingDir:   "/",
			ExposedPorts: map[string]struct{}{port: {}},
		},
		RootFS: v1.RootFS{Type: "layers"},
	}
	var descs []v1.Descriptor
	var plain []v1.Layer
	for _, l := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, l.blob.DiffID)
		config.History = append(config.History, v1.History{Created: at})
		descs = append(descs, v1.Descriptor{MediaType: l.blob.MediaType, Size: l.blob.Size, Digest: l.blob.Digest})
		plain = append(plain, l.Layer)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding a config: %w", err)
	}
	return oci.Assemble(raw, descs, plain...)
}
