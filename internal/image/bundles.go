package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
)

// maxBundles limits the number of Sigstore bundles that are read for an image. Each needs two
// requests.
const maxBundles = 100

// bundles returns what the Sigstore bundles that refer to a digest contain: its signatures, or
// its attestations. For a bundle that is not valid, it returns the zero value among the
// signatures.
func bundles(ctx context.Context, repo name.Repository, digest v1.Hash, client *remote.Client, signatures bool) (all []signature.Signature, err error) {
	from, err := client.Repository(ctx, repo)
	if err != nil {
		return nil, err
	}
	referrers, err := from.Referrers(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("listing the referrers of %s: %w", digest, err)
	}
	read := 0
	for _, d := range referrers.Manifests {
		if d.ArtifactType != signature.BundleType {
			continue
		}
		if read++; read > maxBundles {
			return nil, fmt.Errorf("more than %d Sigstore bundles refer to %s", maxBundles, digest)
		}
		img, err := Attachment(ctx, repo.Digest(d.Digest.String()), client)
		if err != nil {
			return nil, fmt.Errorf("reading the Sigstore bundle %s: %w", d.Digest, err)
		}
		var s signature.Signature
		if img != nil {
			s, _ = signature.ReadBundle(img) // An invalid bundle does not hide valid ones.
		}
		if signatures != s.IsAttestation() {
			all = append(all, s)
		}
	}
	return all, nil
}
