package image

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// Options are options for pulling. The zero value works.
type Options struct {
	// Remote is the client of the registry. Nil means a client with default options.
	Remote *remote.Client
	// Progress receives the number of bytes that File has written or a Store has fetched.
	Progress progress.Func
	// Offline prevents a Store from sending requests to registries, even if a Request has the
	// policy Always. An image that is not in the cache is an error.
	Offline bool
	// Pin, if not nil, is called with each reference and returns it with the locked digest.
	// The pull then uses the reference with the digest. If Pin returns an error, nothing is
	// pulled.
	Pin func(name.Reference) (name.Reference, error)
	// Rewrite, if not nil, returns the reference from which an image is fetched, such as
	// a reference to a mirror. File ignores it. A Store keeps the image under its own
	// reference.
	Rewrite func(string) string
}

// source returns the reference from which the image at ref is fetched.
func source(ref name.Reference, rewrite func(string) string) (name.Reference, error) {
	if rewrite == nil {
		return ref, nil
	}
	// Users write docker.io for the registry that is called index.docker.io.
	full := ref.Name()
	for _, text := range []string{full, strings.TrimPrefix(full, "index.")} {
		if to := rewrite(text); to != text {
			return remote.ParseReference(to, "")
		}
	}
	return ref, nil
}

func (o Options) client() *remote.Client { return cmp.Or(o.Remote, remote.New(remote.Options{})) }

// pin returns the reference with the digest that Pin returns, or ref if there is no Pin.
func (o Options) pin(ref name.Reference) (name.Reference, error) {
	if o.Pin == nil {
		return ref, nil
	}
	return o.Pin(ref)
}

// Artifact returns the image or index at ref. It fetches all manifests and configs
// immediately, up to 63 MiB. A layer is fetched and verified when it is read, and reading
// continues after a broken connection. Layers can be read until ctx is done. Callers must
// pass errors of reading layers to remote.Client.Explain.
//
// An error of Artifact is one sentence. It names the reference that was fetched, without
// credentials.
func Artifact(ctx context.Context, ref name.Reference, o Options) (xpkg.Artifact, error) {
	client := o.client()
	ref, err := o.pin(ref)
	if err == nil {
		ref, err = source(ref, o.Rewrite)
	}
	if err != nil {
		return nil, err
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
		err := fmt.Errorf("the artifact is neither an image nor an index, but %q", m.MediaType)
		return nil, nil, hint.Wrap(err, "name the tag of a package; if the server is not a registry, correct the host and the port")
	}
	a, err := f.load(oci.Embed(m.Raw))
	return f, a, err
}

// File pulls the package at ref and returns it. It writes the package to path, with the
// same bytes as the .xpkg file that was pushed. The file at path is complete or absent. If
// the image is not a package, File returns an error.
//
// File fetches a layer with a wrong digest once more. If the registry returns an error, ctx
// ends or the process is killed, the downloaded data is kept beside path for a day, if it is
// at least 1 MiB. The next File of the same package in that directory continues the
// download. On Windows, the next File starts from the beginning.
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
