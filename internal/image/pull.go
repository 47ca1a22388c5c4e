package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// Options say how to pull. The zero value works.
type Options struct {
	// Remote reaches the registry. Nil means a new client without options.
	Remote *remote.Client
	// Progress is told the bytes that File has written, or that a Store has
	// fetched.
	Progress progress.Func
	// Offline keeps a Store from asking any registry: what is in the cache
	// counts, whatever a Request's policy, and what is not is an error.
	Offline bool
	// Pin, if not nil, says what is pulled in place of each reference: the digest
	// that a lock has for it. An error of its keeps the reference from being
	// pulled.
	Pin func(name.Reference) (name.Reference, error)
}

func (o Options) client() *remote.Client {
	if o.Remote == nil {
		return remote.New(remote.Options{})
	}
	return o.Remote
}

// Artifact returns the image or index at ref. All its manifests and configs
// are fetched now, up to 63 MiB, so that a tag stands for one digest from then
// on; a layer is fetched when it is asked for, until ctx is done, and checked as
// it is read. Where a connection breaks, that goes on from where it was. An
// error of such later reading is for remote.Client.Explain.
//
// An error is one sentence that names ref, or what it is pinned to, without any
// credential.
func Artifact(ctx context.Context, ref name.Reference, o Options) (xpkg.Artifact, error) {
	client := o.client()
	if o.Pin != nil {
		var err error
		if ref, err = o.Pin(ref); err != nil {
			return nil, err
		}
	}
	_, a, err := fetch(ctx, ref, client)
	if err != nil {
		return nil, fmt.Errorf("pulling %q: %w", ref.Name(), client.Explain(ref, err))
	}
	return a, nil
}

func fetch(ctx context.Context, ref name.Reference, client *remote.Client) (*fetcher, xpkg.Artifact, error) {
	b, err := client.Repository(ctx, ref.Context())
	if err != nil {
		return nil, nil, err
	}
	f := &fetcher{ctx: ctx, blobs: b}
	m, err := b.Manifest(ctx, ref.Identifier())
	if err != nil {
		return nil, nil, err
	}
	if !m.MediaType.IsIndex() && !m.MediaType.IsImage() {
		return nil, nil, fmt.Errorf("it is neither an image nor an index, but %q", m.MediaType)
	}
	a, err := f.load(oci.Embed(m.Raw))
	return f, a, err
}

// File writes the package at ref to path as an .xpkg file, the one that was
// pushed, and returns what it wrote. The file is there whole or not at all, and
// is one that xpkg.Open opens: an image that is no package is an error.
//
// A layer that comes with another digest is fetched once more. If the registry
// stops sending, or ctx ends, what has arrived is kept beside path for a day, if
// that is at least 1 MiB: the next File of the same package in that directory
// need not fetch it, nor does one after a process that was killed. On Windows
// nothing is kept.
func File(ctx context.Context, ref name.Reference, path string, o Options) (xpkg.Artifact, error) {
	client := o.client()
	f, a, err := fetch(ctx, ref, client)
	if err == nil {
		err = f.save(path, a, o.Progress)
	}
	if err != nil {
		return nil, fmt.Errorf("pulling %q: %w", ref.Name(), client.Explain(ref, err))
	}
	return a, nil
}
