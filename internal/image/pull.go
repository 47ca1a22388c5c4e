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

// Options are options for pulling. The zero value works.
type Options struct {
	// Remote is the client of the registry. Nil means a new client without
	// options.
	Remote *remote.Client
	// Progress receives the bytes that File has written, or that a Store
	// has fetched.
	Progress progress.Func
	// Offline prevents requests of a Store to registries, whatever a
	// Request's policy. An image that is not in the cache is an error.
	Offline bool
	// Pin, if not nil, returns the locked digest of a reference, which is
	// pulled instead. If it returns an error, nothing is pulled.
	Pin func(name.Reference) (name.Reference, error)
}

func (o Options) client() *remote.Client {
	if o.Remote == nil {
		return remote.New(remote.Options{})
	}
	return o.Remote
}

// Artifact returns the image or index at ref. It fetches all manifests and
// configs now, up to 63 MiB. A layer is fetched and verified when it is read,
// until ctx is done, and resumes after a broken connection. Errors of these
// later reads are for remote.Client.Explain.
//
// An error is one sentence that names ref, or its pinned reference, without
// credentials.
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

// File writes the package at ref to path as the .xpkg file that was pushed, and
// returns it. The file is complete or absent. An image that is not a package is
// an error.
//
// A layer with a wrong digest is fetched once more. After an error of the
// registry, or when ctx is done, at least 1 MiB of downloaded data is kept
// beside path for a day, as it is when the process is killed. The next File of
// the package in that directory resumes it, except on Windows.
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
