package runtimeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg"
)

// Options are options of the functions that create or read runtime images. Languages
// that run a compiler require Env. All other fields are optional.
type Options struct {
	// Created is the creation time of new images. The zero value is the Unix epoch.
	Created time.Time
	// Platforms selects one image for each platform, in order, if the source has several
	// images. Empty selects all. The layers of other images are not read, unless the
	// source must be read in order, such as a pipe or an engine. FromLayers and FromDir
	// ignore Platforms.
	Platforms []v1.Platform
	// Env is the environment of the Go compiler, as "KEY=value".
	Env []string
	// TempDir is the directory for compiled programs. Empty means os.TempDir().
	TempDir string
	// Beside is the directory of the file that Images.WriteFile will write. With it,
	// WriteFile need not copy layers that were read in the order of the manifests. Empty
	// means TempDir.
	Beside string
	// Pin is the same as image.Options.Pin: it returns a reference with the locked
	// digest, which is then pulled.
	Pin func(name.Reference) (name.Reference, error)
	// Progress receives an event for each step, and the number of bytes that were read.
	Progress progress.Func
}

// Images are runtime images, one for each platform, and their temporary files.
type Images struct {
	// All are the images, in the order in which the source has them.
	All []v1.Image
	// Reference is the reference of the images in a registry. It is nil for images from
	// elsewhere, and for new images.
	Reference name.Reference

	spool *spool
}

// Close removes the temporary files. The images cannot be read afterwards.
func (i *Images) Close() error {
	if i == nil || i.spool == nil {
		return nil
	}
	return i.spool.Close()
}

// WriteFile writes the package a to a file, as xpkg.WriteFile does. If the package embeds
// these images, the first call copies no layers. WriteFile may be called several times.
func (i *Images) WriteFile(ctx context.Context, path string, a xpkg.Artifact, report progress.Func) error {
	if i.spool == nil {
		return archive.WriteFiles(ctx, report, archive.Target{Path: path, Artifact: a})
	}
	return i.spool.draft.WriteFile(ctx, path, a, report)
}

// A spool stores the layers of images in a temporary file. Close removes the temporary files.
type spool struct {
	fsx.Closers
	// dir is a private directory for temporary files other than the layers.
	dir       string
	draft     *archive.FileDraft
	platforms []v1.Platform // the platforms to select; empty selects all
	report    progress.Func
}

// newSpool creates a spool. It also removes the temporary files of processes that were
// killed.
func newSpool(opts Options) (*spool, error) {
	parent := cmp.Or(opts.TempDir, os.TempDir())
	dir, path, err := fsx.MakeTempDirIn(parent)
	if err != nil {
		return nil, err
	}
	s := &spool{dir: path, platforms: opts.Platforms, report: opts.Progress}
	s.Add(dir)
	if s.draft, err = archive.CreateDraft(cmp.Or(opts.Beside, parent)); err != nil {
		return nil, errors.Join(fmt.Errorf("making a temporary file: %w", err), s.Close())
	}
	s.Add(s.draft)
	return s, nil
}

// read creates a spool and returns the images that fill reads from a source. name is the
// name of the source in progress messages, and doing the beginning of errors.
func read(doing, name string, opts Options, fill func(*spool) (*Images, error)) (*Images, error) {
	all, err := create(nil, opts, func(s *spool) (*Images, error) {
		opts.Progress.Step("reading " + name)
		return fill(s)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return all, nil
}

// create creates a spool and returns the images that fill creates with it. create takes
// ownership of base, which may be nil.
func create(base *Images, opts Options, fill func(*spool) (*Images, error)) (*Images, error) {
	s, err := newSpool(opts)
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	s.Add(base)
	all, err := fill(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return all, nil
}
