package runtimeimage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

// Options say how runtime images are made. The zero value works, but for the
// Env that compiling needs.
type Options struct {
	// Created is the creation time that images made here have. The zero value
	// is the Unix epoch.
	Created time.Time
	// Env is the environment of the Go compiler, as "KEY=value".
	Env []string
	// TempDir is where compressed layers are kept while the images are in use.
	// Empty is the system's directory for temporary files.
	TempDir string
	// Progress hears of the stages. It may be nil.
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
	if i.spool == nil {
		return nil
	}
	return i.spool.Close()
}

// A spool keeps compressed layers in a temporary directory.
type spool struct {
	dir string

	mu   sync.Mutex
	open []io.Closer
}

func newSpool(parent string) (*spool, error) {
	dir, err := os.MkdirTemp(parent, "xfn-runtime-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary directory: %w", err)
	}
	return &spool{dir: dir}, nil
}

// keep closes c when the spool is closed.
func (s *spool) keep(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, c)
}

// Close closes all files and removes the directory.
func (s *spool) Close() error {
	var errs []error
	for _, c := range s.open {
		errs = append(errs, c.Close())
	}
	s.open = nil
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// layer compresses the tar that fill writes, in one pass.
func (s *spool) layer(fill func(io.Writer) error) (v1.Layer, oci.Blob, error) {
	f, err := os.CreateTemp(s.dir, "layer-*.tar.gz")
	if err != nil {
		return nil, oci.Blob{}, fmt.Errorf("making a temporary file: %w", err)
	}
	s.keep(f)
	zw, err := oci.NewCompressor(f)
	if err != nil {
		return nil, oci.Blob{}, err
	}
	if err := errors.Join(fill(zw), zw.Close()); err != nil {
		return nil, oci.Blob{}, fmt.Errorf("compressing a layer: %w", err)
	}
	l, err := oci.Layer(f, zw.Blob())
	return l, zw.Blob(), err
}
