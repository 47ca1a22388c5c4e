package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// Signatures returns the signatures of a digest in repo, and the image that holds
// them, which is nil if there is none. Errors are for remote.Client.Explain.
func Signatures(ctx context.Context, repo name.Repository, digest v1.Hash, client *remote.Client) (v1.Image, []signature.Signature, error) {
	tag := signature.Tag(repo, digest)
	_, a, err := fetch(ctx, tag, client)
	if remote.NotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	img, ok := a.(v1.Image)
	if !ok {
		return nil, nil, fmt.Errorf("tag %q is an index and not an image of signatures", tag.TagStr())
	}
	all, err := signature.Read(img)
	return img, all, err
}
