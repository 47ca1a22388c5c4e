package xpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A source is a package or a plain image in a file or a registry.
type source struct {
	closers
	name     string
	artifact xpkg.Artifact
	local    bool

	client *remote.Client
	ref    name.Reference
}

// closers are closed in their order.
type closers []io.Closer

func (all closers) Close() error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// explain names the source in an error of reading it.
func (s *source) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if s.ref != nil {
		err = s.client.Explain(s.ref, err)
	}
	return fmt.Errorf("%s %q: %w", doing, s.name, err)
}

// open opens a package by the path of its file or by its reference.
func (f registryFlags) open(ctx context.Context, p terminal.Program, from string) (*source, error) {
	if isFile(from) {
		return openFile(ctx, from)
	}
	ref, err := f.reference(from)
	if err != nil {
		return nil, err
	}
	return f.fetch(ctx, p, from, ref)
}

func openFile(ctx context.Context, path string) (*source, error) {
	file, err := xpkg.OpenImage(ctx, path)
	if err != nil {
		return nil, err
	}
	return &source{name: path, artifact: file.Artifact, local: true, closers: closers{file}}, nil
}

// isFile reports whether from is the path of a file: the file exists, or from cannot be
// a reference.
func isFile(from string) bool {
	_, err := os.Stat(from)
	return err == nil || filepath.IsAbs(from) || strings.HasPrefix(from, ".") || strings.HasSuffix(from, ".xpkg")
}

// reference parses the reference of a package or image that is not a file.
func (f registryFlags) reference(from string) (name.Reference, error) {
	ref, err := f.Reference(from)
	if err == nil {
		return ref, nil
	}
	err = fmt.Errorf("there is no file %q: %w", from, err)
	if hint.Of(err) == "" {
		err = hint.Wrap(err, "use an existing file, or REGISTRY/REPOSITORY:TAG")
	}
	return nil, err
}

// fetch reads the manifests of a package from its registry, without its layers.
func (f registryFlags) fetch(ctx context.Context, p terminal.Program, from string, ref name.Reference) (*source, error) {
	client := f.Client(p)
	a, err := image.Artifact(ctx, ref, image.Options{Remote: client})
	if err != nil {
		return nil, err
	}
	return &source{name: from, artifact: a, client: client, ref: ref}, nil
}
