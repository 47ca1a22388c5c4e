package runtimeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg"
)

// Options say how runtime images are made. The zero value works, but for the
// Env that compiling needs.
type Options struct {
	// Created is the creation time that images made here have. The zero value
	// is the Unix epoch.
	Created time.Time
	// Platforms are those whose images are wanted of a place that holds several,
	// one for each, in their order. Without any, all are. Layers of others are not
	// read, where the place has them each by itself. FromSource and FromDir have
	// platforms of their own.
	Platforms []v1.Platform
	// Env is the environment of the Go compiler, as "KEY=value".
	Env []string
	// TempDir is where programs are compiled to. Empty is the system's directory
	// for temporary files.
	TempDir string
	// Beside is the directory that the file which the images will be written to
	// is in. Their layers are kept there, and if they come in the order of the
	// manifests, they stay there: see Images.WriteFile. Empty is TempDir.
	Beside string
	// Pin is image.Options.Pin, for images of registries. It may be nil.
	Pin func(name.Reference) (name.Reference, error)
	// Progress hears of the stages, and of bytes. It may be nil.
	Progress progress.Func
}

// Images are runtime images, one per platform, and the temporary files that
// they are read from. The zero value is no images.
type Images struct {
	// All are the images, in the order of their source.
	All []v1.Image

	spool *spool
}

// Close removes the temporary files. The images cannot be read after it.
func (i *Images) Close() error {
	if i == nil || i.spool == nil {
		return nil
	}
	return i.spool.Close()
}

// WriteFile writes a package as xpkg.WriteFile does: a package that embeds the
// images, or some of them, most cheaply. It may be called more than once.
func (i *Images) WriteFile(ctx context.Context, path string, a xpkg.Artifact, report progress.Func) error {
	if i.spool == nil {
		return archive.WriteFiles(ctx, report, archive.Target{Path: path, Artifact: a})
	}
	return i.spool.draft.WriteFile(ctx, path, a, report)
}

// A spool keeps the layers of images.
type spool struct {
	// dir is a private directory for other temporary files.
	dir       string
	draft     *archive.FileDraft
	platforms []v1.Platform // that are wanted
	report    progress.Func

	mu   sync.Mutex
	open []io.Closer
}

// newSpool makes a spool. What killed processes have left in its places is
// removed.
func newSpool(opts Options) (*spool, error) {
	parent := cmp.Or(opts.TempDir, os.TempDir())
	root, err := os.OpenRoot(parent)
	if err != nil {
		return nil, fmt.Errorf("making a temporary directory: %w", err)
	}
	dir, err := fsx.MakeTempDir(root)
	if err != nil {
		return nil, err
	}
	s := &spool{dir: filepath.Join(parent, dir.Name), platforms: opts.Platforms, report: opts.Progress}
	s.keep(dir)
	if s.draft, err = archive.CreateDraft(cmp.Or(opts.Beside, parent)); err != nil {
		return nil, errors.Join(fmt.Errorf("making a temporary file: %w", err), s.Close())
	}
	s.keep(s.draft)
	return s, nil
}

// read makes a spool and returns the images that fill reads into it from what has
// that name.
func read(name string, opts Options, fill func(*spool) (*Images, error)) (*Images, error) {
	s, err := newSpool(opts)
	if err != nil {
		return nil, err
	}
	opts.Progress.Step("reading " + name)
	all, err := fill(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return all, nil
}

// keep closes c when the spool is closed.
func (s *spool) keep(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, c)
}

// Close closes all files and removes the temporary ones, the latest first.
func (s *spool) Close() error {
	var errs []error
	for _, c := range slices.Backward(s.open) {
		errs = append(errs, c.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
