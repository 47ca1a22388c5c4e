package signature

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A Signature is a signature of an image or index.
type Signature struct {
	// Payload is the document that was signed, which contains the digest of the image, or the
	// envelope of an attestation.
	Payload []byte
	// Value is the signature of Payload by a key. It is empty for an envelope, which contains
	// its signature.
	Value []byte
	// Bundle is the JSON of a LogBundle, if the signature is in a transparency log.
	Bundle []byte
	// Certificate is the certificate of the key, and Chain the certificates of the
	// authorities that issued it, in PEM. They are empty for a key without a
	// certificate.
	Certificate, Chain []byte
}

// Tag returns the tag in repo at which the signatures of a digest are stored:
// "sha256-HEX.sig".
func Tag(repo name.Repository, digest v1.Hash) name.Tag {
	return repo.Tag(tagOf(digest, "sig"))
}

// Tags returns the tags at which cosign stores the signatures, attestations and SBOM of a
// digest (sigstore/cosign, specs/SIGNATURE_SPEC.md, "Tag-based discovery").
func Tags(digest v1.Hash) []string {
	return []string{tagOf(digest, "sig"), tagOf(digest, "att"), tagOf(digest, "sbom")}
}

func tagOf(digest v1.Hash, kind string) string {
	return digest.Algorithm + "-" + digest.Hex + "." + kind
}

// Sign returns a signature of the image with this digest in repo. ECDSA is randomized: two
// signatures of the same digest differ.
func (k *PrivateKey) Sign(repo name.Repository, digest v1.Hash) (Signature, error) {
	text, err := json.Marshal(payload.Cosign{Image: repo.Digest(digest.String())})
	if err != nil {
		return Signature{}, fmt.Errorf("encoding the signed document of %s: %w", digest, err)
	}
	value, err := k.SignText(text)
	if err != nil {
		return Signature{}, fmt.Errorf("signing %s: %w", digest, err)
	}
	return Signature{Payload: text, Value: value, Certificate: k.certificate, Chain: k.chain}, nil
}

// digest returns the digest of the image that s signs, from the payload.
func (s Signature) digest() (v1.Hash, error) {
	var p payload.SimpleContainerImage
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return v1.Hash{}, errors.New("expected the JSON of a simple signing document")
	}
	if p.Critical.Type != payload.CosignSignatureType {
		return v1.Hash{}, fmt.Errorf("expected a signature of type %q, got %q", payload.CosignSignatureType, p.Critical.Type)
	}
	h, err := v1.NewHash(p.Critical.Image.DockerManifestDigest)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("the digest %q is invalid", p.Critical.Image.DockerManifestDigest)
	}
	return h, nil
}

// Count returns the number of signatures of digest that k's private key made. The payload
// may name another repository, because a signature is also valid for copies of the image.
func (k *PublicKey) Count(signatures []Signature, digest v1.Hash) int {
	good, _ := sortBy(k, signatures, digest)
	return good
}

// sortBy returns the number of signatures of digest by v. For each invalid signature by
// v, wrong says why it is invalid.
func sortBy(v Verifier, signatures []Signature, digest v1.Hash) (good int, wrong []string) {
	for _, s := range signatures {
		found, err := s.about(v, digest)
		switch {
		case errors.Is(err, errStranger):
		case err != nil:
			wrong = append(wrong, err.Error())
		case found != digest:
			wrong = append(wrong, fmt.Sprintf("%s signed %s", v, found))
		default:
			good++
		}
	}
	return good, wrong
}

// about returns the digest of the image that s signs, if the signature is by v. Of the images
// of a Statement, it prefers digest.
func (s Signature) about(v Verifier, digest v1.Hash) (v1.Hash, error) {
	if len(s.Value) == 0 {
		return signedStatement(v, s, digest)
	}
	if err := v.verify(s.Payload, s.Value, s, func(key []byte) LogEntry { return HashedEntry(s.Payload, s.Value, key) }); err != nil {
		return v1.Hash{}, err
	}
	of, err := s.digest()
	if err != nil {
		err = fmt.Errorf("%s signed a document that is not about an image: %w", v, err)
	}
	return of, err
}

// Check returns the number of valid signatures of digest by each of the verifiers. If no
// verifier has a valid signature, it returns an error that describes the existing
// signatures. One valid signature is enough, as one authority is enough in Crossplane's
// ImageConfig.
func Check(signatures []Signature, digest v1.Hash, verifiers ...Verifier) (by []int, err error) {
	found := false
	var wrong []string
	for _, v := range verifiers {
		good, more := sortBy(v, signatures, digest)
		found = found || good > 0
		by, wrong = append(by, good), append(wrong, more...)
	}
	slices.Sort(wrong)
	wrong = slices.Compact(wrong)
	switch {
	case found:
		return by, nil
	case len(signatures) == 0:
		return nil, hint.Wrap(fmt.Errorf("%s has no signature", digest), "sign the package when you push it: xfn xpkg push "+hint.SignKey+" FILE")
	case len(wrong) > 0:
		return nil, fmt.Errorf("%s has no valid signature: %s", digest, strings.Join(wrong[:min(len(wrong), maxReasons)], "; "))
	}
	have, others := "1 signature", "any of the given keys and identities"
	if n := len(signatures); n != 1 {
		have = fmt.Sprintf("%d signatures", n)
	}
	switch n := len(verifiers); {
	case n == 1:
		others = verifiers[0].String()
	case !slices.ContainsFunc(verifiers, isIdentity):
		others = fmt.Sprintf("any of the %d keys", n)
	}
	return nil, fmt.Errorf("%s has %s, but none by %s: they were made with other keys, or changed", digest, have, others)
}

// mediaType is the media type of a layer that contains the payload of one signature.
const mediaType types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"

const (
	// annotation is the key of the layer annotation that contains the signature in base64.
	annotation = "dev.cosignproject.cosign/signature"

	// maxSignatures limits the number of signatures in an image. cosign has the same limit.
	maxSignatures = 1000
	// maxReasons limits the number of reasons in the error of Check.
	maxReasons = 3
	// maxPayload limits the bytes of a payload. A payload usually has about 300 bytes, plus
	// what the signer adds. maxValue limits the bytes of a signature in base64, which has 684
	// with RSA of 4096 bits.
	maxPayload = 64 << 10
	maxValue   = 4 << 10
	// maxPayloads limits the bytes of all payloads in an image: signatures or attestations.
	maxPayloads = 4 * maxEnvelope
	// maxNote limits the bytes of each other annotation.
	maxNote = 128 << 10
)

// Annotations that a layer of cosign has besides the signature: the bundle of the
// transparency log, the certificate and its chain.
const (
	bundleAnnotation      = "dev.sigstore.cosign/bundle"
	certificateAnnotation = "dev.sigstore.cosign/certificate"
	chainAnnotation       = "dev.sigstore.cosign/chain"
)

// Read returns the signatures in the image img, in the order of its layers. It ignores
// layers of other media types. For a signature that is too large or not base64, it returns
// the zero value. The payloads together are limited, too. Callers must pass an img whose layers verify their digests.
func Read(img v1.Image) ([]Signature, error) { return read(img, mediaType, maxPayload) }

// read returns the layers of a media type as signatures. Each has at most limit bytes.
func read(img v1.Image, mediaType types.MediaType, limit int64) ([]Signature, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	if n := len(m.Layers); n > maxSignatures {
		return nil, fmt.Errorf("the image has %d signatures, more than the limit of %d", n, maxSignatures)
	}
	var all []Signature
	payloads := map[v1.Hash][]byte{} // Signatures by several keys often have the same payload.
	left := int64(maxPayloads)
	for _, d := range m.Layers {
		value := d.Annotations[annotation]
		if d.MediaType != mediaType {
			continue
		}
		s := Signature{}
		if raw, err := base64.StdEncoding.DecodeString(value); err == nil && len(value) <= maxValue && d.Size <= limit {
			if payloads[d.Digest] == nil {
				if d.Size > left {
					return nil, fmt.Errorf("the signed documents are larger than the limit of %d MiB", maxPayloads>>20)
				}
				if payloads[d.Digest], err = readPayload(img, d.Digest, min(limit, left)); err != nil {
					return nil, fmt.Errorf("reading the signed document %s: %w", d.Digest, err)
				}
				left -= max(d.Size, int64(len(payloads[d.Digest])))
			}
			s = Signature{Payload: payloads[d.Digest], Value: raw}
			for key, field := range s.notes() {
				if text := d.Annotations[key]; text != "" && len(text) <= maxNote {
					*field = []byte(text)
				}
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// notes returns the fields of s that are stored as annotations, by their keys.
func (s *Signature) notes() map[string]*[]byte {
	return map[string]*[]byte{bundleAnnotation: &s.Bundle, certificateAnnotation: &s.Certificate, chainAnnotation: &s.Chain}
}

func readPayload(img v1.Image, digest v1.Hash, limit int64) (_ []byte, err error) {
	l, err := img.LayerByDigest(digest)
	if err != nil {
		return nil, err
	}
	rc, err := l.Compressed() // Compressed returns the stored bytes, without decompressing them
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	text, err := io.ReadAll(io.LimitReader(rc, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("expected at most %d KiB", limit>>10)
	}
	return text, err
}

// Append returns a copy of img with the signature s as its last layer. If img is nil, the
// result has only this signature.
func Append(img v1.Image, s Signature) (v1.Image, error) {
	return appendLayer(img, s, mediaType, nil)
}

// appendLayer appends s as a layer with a media type, and with annotations besides its own.
func appendLayer(img v1.Image, s Signature, mediaType types.MediaType, annotations map[string]string) (v1.Image, error) {
	if img == nil {
		img = mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	if n := len(m.Layers); n >= maxSignatures {
		return nil, fmt.Errorf("the image has %d signatures already, which is the limit", n)
	}
	all := map[string]string{annotation: base64.StdEncoding.EncodeToString(s.Value)}
	maps.Copy(all, annotations)
	for key, field := range s.notes() {
		if len(*field) > 0 {
			all[key] = string(*field)
		}
	}
	img, err = mutate.Append(img, mutate.Addendum{Layer: static.NewLayer(s.Payload, mediaType), Annotations: all, MediaType: mediaType})
	if err != nil {
		return nil, fmt.Errorf("adding a signature: %w", err)
	}
	return img, nil
}
