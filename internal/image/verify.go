package image

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/xpkg"
)

// verifyParallel is how many blobs are read at once.
const verifyParallel = 4

// A Result says what was checked.
type Verification struct {
	// Digest is that of the image or index, and MediaType its manifest's.
	Digest    v1.Hash
	MediaType types.MediaType
	// Platforms are those of the images, in their order. An image without a
	// platform has no entry.
	Platforms []string
	// Signatures is how many there are, and By how many of them each key made.
	Signatures int
	By         []int
	// Blobs counts the manifests, configs and layers that were checked, each once,
	// and Bytes theirs.
	Blobs int
	Bytes int64
	// Elsewhere are layers that were not checked, as registries do not have them:
	// their manifest says where to get them (OCI image spec, "Non-Distributable
	// Layers").
	Elsewhere []v1.Hash
}

// Verify checks that one of the keys has signed what is at ref, and then every
// manifest, every config, and the layers of all platforms by their digests. Layers
// are read and not kept. Of the package, only the manifest at ref is read before
// its signature is known to be good.
//
// Remote and Progress of o count. An error is one sentence that names ref, without
// any credential.
func Verify(ctx context.Context, ref name.Reference, keys []*signature.PublicKey, o Options) (Verification, error) {
	if o.Remote == nil {
		o.Remote = remote.New(remote.Options{})
	}
	w := work{ref: ref, Options: o}
	err := w.signed(ctx, keys)
	if err == nil {
		err = w.whole(ctx)
	}
	if err != nil {
		return Verification{}, fmt.Errorf("verifying %q: %w", ref.Name(), o.Remote.Explain(ref, err))
	}
	return w.Verification, nil
}

// work is what is known so far.
type work struct {
	Options
	ref  name.Reference
	from *remote.Blobs
	Verification
}

// signed checks the signature of what is at the reference.
func (w *work) signed(ctx context.Context, keys []*signature.PublicKey) error {
	var err error
	if w.from, err = w.Remote.Blobs(ctx, w.ref.Context()); err != nil {
		return err
	}
	top, err := w.from.Manifest(ctx, w.ref.Identifier())
	if err != nil {
		return err
	}
	w.Digest, w.MediaType = top.Digest, top.MediaType
	_, all, err := Signatures(ctx, w.ref.Context(), w.Digest, w.Remote)
	if err != nil {
		return err
	}
	w.Signatures = len(all)
	w.By, err = signature.Check(all, w.Digest, keys...)
	return err
}

// whole checks all digests. Manifests and configs are checked as they are read.
func (w *work) whole(ctx context.Context) error {
	a, err := Artifact(ctx, w.ref.Context().Digest(w.Digest.String()), w.Options)
	if err != nil {
		return err
	}
	images, err := xpkg.Images(a)
	if err != nil {
		return err
	}
	for _, i := range images {
		if i.Platform != nil {
			w.Platforms = append(w.Platforms, i.Platform.String())
		}
	}
	t := tree{seen: map[v1.Hash]bool{}}
	if err := t.add(a); err != nil {
		return err
	}
	w.Blobs, w.Bytes, w.Elsewhere = len(t.seen)-len(t.elsewhere), t.metadata+t.size, t.elsewhere
	return w.read(ctx, t)
}

// read reads all layers, some at a time.
func (w *work) read(ctx context.Context, t tree) error {
	var done atomic.Int64
	moved := func(n int64) {
		w.Progress.Send(progress.Event{Kind: progress.Bytes, Text: "verifying " + w.ref.Name(), Done: done.Add(n), Total: t.size})
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyParallel)
	for _, d := range t.layers {
		g.Go(func() error { return check(ctx, w.from, d, moved) })
	}
	return g.Wait()
}
