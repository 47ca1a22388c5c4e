package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Verification describes an image or index that Verify accepted.
type Verification struct {
	// Digest and MediaType are the digest and media type of the image or index at the reference.
	Digest    v1.Hash
	MediaType types.MediaType
	// Platforms are the platforms of the images, in order. An image without a platform has no
	// entry.
	Platforms []string
	// Signatures is the number of signatures of the artifact. By[i] is the number of
	// signatures by the argument by[i] of Verify.
	Signatures int
	By         []int
	// Blobs is the number of verified manifests, configs and layers. Bytes is their total size.
	// Each digest is counted once.
	Blobs int
	Bytes int64
	// Elsewhere are the digests of layers that registries need not store (OCI image spec,
	// "Non-Distributable Layers"). They are not verified.
	Elsewhere []v1.Hash
}

// Verify verifies that there is a signature of the artifact at ref by one of the verifiers,
// and then the digests of all manifests, configs and layers. Until the signature is verified,
// it reads only the manifest at ref and the signatures. It does not store layers.
//
// An error is one sentence that names ref, without credentials.
func Verify(ctx context.Context, ref name.Reference, by []signature.Verifier, client *remote.Client, report progress.Func) (Verification, error) {
	v := verification{ref: ref, client: client, report: report}
	err := v.checkSignature(ctx, by)
	if err == nil {
		err = v.checkDigests(ctx)
	}
	if err != nil {
		return Verification{}, fmt.Errorf("verifying %q: %w", ref.Name(), client.Explain(ref, err))
	}
	return v.Verification, nil
}

// A verification is a Verification that is not complete, with the state of Verify.
type verification struct {
	Verification
	ref    name.Reference
	client *remote.Client
	report progress.Func

	seen   map[v1.Hash]bool
	layers []v1.Descriptor
}

// checkSignature verifies the signature of the manifest at the reference. It reads Sigstore
// bundles only if no signature at cosign's tag is valid.
func (v *verification) checkSignature(ctx context.Context, by []signature.Verifier) error {
	from, err := v.client.Repository(ctx, v.ref.Context())
	if err != nil {
		return err
	}
	top, err := from.Manifest(ctx, v.ref.Identifier())
	if err != nil {
		return err
	}
	v.Digest, v.MediaType = top.Digest, top.MediaType
	_, all, err := Signatures(ctx, v.ref.Context(), v.Digest, v.client)
	if err != nil {
		return err
	}
	if v.By, err = signature.Check(all, v.Digest, by...); err != nil {
		more, moreErr := bundles(ctx, v.ref.Context(), v.Digest, v.client, true)
		if moreErr != nil {
			return moreErr
		}
		all = append(all, more...)
		v.By, err = signature.Check(all, v.Digest, by...)
	}
	v.Signatures = len(all)
	return err
}

// Trusted resolves ref and returns it with its digest. It applies o.Pin first. If there are
// verifiers, Trusted returns an error unless one of them signed the digest, and attested it
// by each of the predicate types. It reads no layers.
//
// An error is one sentence that names the reference, without credentials.
func Trusted(ctx context.Context, ref name.Reference, by []signature.Verifier, predicateTypes []string, o Options) (_ name.Reference, err error) {
	if ref, err = o.pin(ref); err != nil {
		return nil, err
	}
	if _, pinned := ref.(name.Digest); len(by) == 0 && pinned {
		return ref, nil
	}
	if len(by) == 0 {
		return nil, fmt.Errorf("verifying %q: it has no locked digest, and there is no key or identity", ref.Name())
	}
	if o.Offline {
		return nil, fmt.Errorf("verifying %q: its signatures are in the registry, and nothing may be fetched", ref.Name())
	}
	from, err := source(ref, o.Rewrite)
	if err != nil {
		return nil, err
	}
	v := verification{ref: from, client: o.client()}
	if err := v.checkSignature(ctx, by); err != nil {
		return nil, fmt.Errorf("verifying %q: %w", from.Name(), v.client.Explain(from, err))
	}
	digest := v.Digest.String()
	if err := RequireAttestations(ctx, from.Context().Digest(digest), predicateTypes, by, v.client); err != nil {
		return nil, err
	}
	return ref.Context().Digest(digest), nil
}

// checkDigests verifies all digests. Fetching a manifest or config verifies its digest, so
// only layers are read here.
func (v *verification) checkDigests(ctx context.Context) error {
	f, a, err := fetch(ctx, v.ref.Context().Digest(v.Digest.String()), v.client)
	if err != nil {
		return err
	}
	images, err := xpkg.Images(a)
	if err != nil {
		return err
	}
	for _, i := range images {
		if i.Platform != nil {
			v.Platforms = append(v.Platforms, i.Platform.String())
		}
	}
	tree, top, err := oci.TreeOf(a)
	if err != nil {
		return err
	}
	v.seen = map[v1.Hash]bool{}
	if err := (oci.Walk{Read: tree.Read, Before: v.add}).Run(ctx, top); err != nil {
		return err
	}
	m := &meter{report: v.report, text: "verifying " + v.ref.Name()}
	for _, d := range v.layers {
		m.total += d.Size
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, d := range v.layers {
		g.Go(func() error {
			return oci.RetryMismatch(func() error { return readBlob(ctx, f.blobs, d, m.moved) })
		})
	}
	return g.Wait()
}

// add counts a manifest and its blobs, and appends to v.layers the layers to verify.
func (v *verification) add(m *oci.Manifest) error {
	v.count(m.Digest, int64(len(m.Raw)))
	if m.Config != nil {
		v.count(m.Config.Digest, m.Config.Size)
	}
	for _, d := range m.Layers {
		switch {
		case oci.IsElsewhere(d) && !v.seen[d.Digest]:
			v.seen[d.Digest] = true
			v.Elsewhere = append(v.Elsewhere, d.Digest)
		case v.count(d.Digest, d.Size):
			v.layers = append(v.layers, d)
		}
	}
	return nil
}

// count counts a blob. It returns false if the digest was already counted.
func (v *verification) count(h v1.Hash, size int64) bool {
	if v.seen[h] {
		return false
	}
	v.seen[h] = true
	v.Blobs++
	v.Bytes += size
	return true
}

// readBlob reads a blob to its end and verifies its digest. It calls moved with the number
// of bytes of each read. After an error, it calls moved once with the negative sum of these
// numbers.
func readBlob(ctx context.Context, from *remote.Repository, d v1.Descriptor, moved func(bytes int64)) (err error) {
	blob, err := oci.Verify(from.Stream(ctx, d, 0), d.Digest, d.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	n, err := io.Copy(counter(moved), blob)
	if err != nil {
		moved(-n)
	}
	return err
}

// A counter is a Writer that calls a function with the number of bytes of each Write.
type counter func(bytes int64)

func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}

// Signatures returns the signatures of a digest in repo, and the image that contains them.
// Both are nil if there are no signatures. Callers must pass errors to
// remote.Client.Explain.
func Signatures(ctx context.Context, repo name.Repository, digest v1.Hash, client *remote.Client) (v1.Image, []signature.Signature, error) {
	return attached(ctx, signature.Tag(repo, digest), client, signature.Read)
}

// Attestations returns the attestations of a digest in repo, as Signatures does with
// signatures.
func Attestations(ctx context.Context, repo name.Repository, digest v1.Hash, client *remote.Client) (v1.Image, []signature.Signature, error) {
	return attached(ctx, repo.Tag(signature.AttestationTag(digest)), client, signature.ReadAttestations)
}

func attached(ctx context.Context, tag name.Tag, client *remote.Client, read func(v1.Image) ([]signature.Signature, error)) (v1.Image, []signature.Signature, error) {
	img, err := Attachment(ctx, tag, client)
	if img == nil || err != nil {
		return nil, nil, err
	}
	all, err := read(img)
	return img, all, err
}

// Attachment returns the image of signatures or attestations at ref, or nil if there is
// none. Callers must pass errors to remote.Client.Explain.
func Attachment(ctx context.Context, ref name.Reference, client *remote.Client) (v1.Image, error) {
	_, a, err := fetch(ctx, ref, client)
	if remote.NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	img, ok := a.(v1.Image)
	if !ok {
		return nil, fmt.Errorf("%q is an index and not an image of signatures", ref.Identifier())
	}
	return img, nil
}

// RequireAttestations returns an error unless the digest at ref has an attestation of each
// predicate type by one of the verifiers. An attestation of test results counts only if the
// tests passed.
//
// An error is one sentence that names ref, without credentials.
func RequireAttestations(ctx context.Context, ref name.Digest, predicateTypes []string, by []signature.Verifier, client *remote.Client) error {
	if len(predicateTypes) == 0 {
		return nil
	}
	digest, err := v1.NewHash(ref.DigestStr())
	if err != nil {
		return fmt.Errorf("verifying %q: %w", ref.Name(), err)
	}
	_, all, err := Attestations(ctx, ref.Context(), digest, client)
	if err == nil && lacking(all, digest, predicateTypes, by) != nil {
		var more []signature.Signature
		more, err = bundles(ctx, ref.Context(), digest, client, false)
		all = append(all, more...)
	}
	if err != nil {
		return fmt.Errorf("verifying %q: reading its attestations: %w", ref.Name(), client.Explain(ref, err))
	}
	if err := lacking(all, digest, predicateTypes, by); err != nil {
		return fmt.Errorf("verifying %q: %w", ref.Name(), err)
	}
	return nil
}

// lacking returns an error unless all has an attestation of each predicate type.
func lacking(all []signature.Signature, digest v1.Hash, predicateTypes []string, by []signature.Verifier) error {
	found := make([]map[string][][]byte, len(by))
	for i, v := range by {
		found[i] = signature.Attested(all, digest, v)
	}
	for _, t := range predicateTypes {
		var statements [][]byte
		for _, by := range found {
			statements = append(statements, by[t]...)
		}
		if len(all) == 0 {
			return hint.Wrap(errors.New("it has no attestation"), "attach one with xfn xpkg sign, or when you push the package")
		}
		if len(statements) == 0 {
			return fmt.Errorf("none of its %d attestations is of type %q and by a given key or identity", len(all), t)
		}
		if !slices.ContainsFunc(statements, signature.Passed) {
			return fmt.Errorf("its attestations of type %q say that the tests did not pass", t)
		}
	}
	return nil
}

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
