package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

const defaultJobs = 4

// Options say how to push. The zero value works.
type Options struct {
	// Remote reaches the registry. Nil means a new client without options.
	Remote *remote.Client
	// Jobs is how many blobs are sent at a time. Zero means 4.
	Jobs int
	// Progress is told the bytes that are in the registry, out of those that
	// the package has.
	Progress progress.Func
}

// A Result says what is at the tag.
type Result struct {
	// Reference is the tag in full: REGISTRY/REPOSITORY:TAG.
	Reference string
	// Digest is that of the image or index at the tag.
	Digest v1.Hash
	// MediaType is that of the manifest with this digest.
	MediaType types.MediaType
	// Platforms are those of the images, in their order: "linux/arm64/v8". An
	// image without a platform has no entry.
	Platforms []string
}

// Artifact pushes a, an image or an index, to ref. What the registry has
// already is not sent; a is sent as it is, children first and by digest, and
// the tag moves last: whoever reads it sees the old package or all of the new
// one. Pushing again what is there changes nothing.
//
// An error is one sentence that names ref, without any credential.
func Artifact(ctx context.Context, ref name.Tag, a xpkg.Artifact, o Options) (Result, error) {
	if o.Remote == nil {
		o.Remote = remote.New(remote.Options{})
	}
	if o.Jobs == 0 {
		o.Jobs = defaultJobs
	}
	p, err := planOf(ref, a)
	if err != nil {
		return Result{}, fmt.Errorf("reading the package for %q: %w", ref.Name(), err)
	}
	m := watch("pushing "+ref.Name(), p.size, o.Progress)
	err = o.do(ctx, ref, p, m.updates)
	m.stop(err == nil)
	if err != nil {
		return Result{}, fmt.Errorf("pushing %q: %w", ref.Name(), o.Remote.Explain(ref, err))
	}
	return p.result, nil
}

// do sends what p holds. Layers are sent here and not by the library's Push,
// as that sends the images of an index side by side: there the failure of one
// image cancels a layer that it shares with another, which then reports the
// cancellation in place of the failure.
func (o Options) do(ctx context.Context, ref name.Tag, p *plan, updates chan<- v1.Update) error {
	opts := append(o.Remote.Options(ctx), ggcr.WithJobs(o.Jobs), ggcr.WithProgress(updates))
	if there, err := isAt(ref, p.result.Digest, opts); there || err != nil {
		return err
	}
	pusher, err := ggcr.NewPusher(opts...)
	if err != nil {
		return err
	}
	g, layersCtx := errgroup.WithContext(ctx)
	g.SetLimit(o.Jobs)
	for _, l := range p.layers {
		g.Go(func() error { return pusher.Upload(layersCtx, ref.Context(), l) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return pusher.Push(ctx, ref, p.artifact)
}

// isAt asks whether the tag is at the digest already. A registry that does not
// say so gets the push: that asks again with the right to push, and fails if
// there is none. Some refuse to show a repository that does not exist yet.
func isAt(ref name.Tag, digest v1.Hash, opts []ggcr.Option) (bool, error) {
	desc, err := ggcr.Head(ref, opts...)
	var status *transport.Error
	if errors.As(err, &status) && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, status.StatusCode) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return desc.Digest == digest, nil
}
