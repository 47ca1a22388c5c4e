package signature

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A Signature is one of those that stand beside an image.
type Signature struct {
	// Payload is the document that was signed.
	Payload []byte
	// Value is what the key made of it.
	Value []byte
}

// Tag returns the tag of repo where the signatures of a digest are:
// "sha256-HEX.sig". Who copies what has this digest takes it along.
func Tag(repo name.Repository, digest v1.Hash) name.Tag {
	return repo.Tag(tagOf(digest, "sig"))
}

// Tags are where cosign keeps what belongs to a digest: its signatures,
// attestations and SBOM (sigstore/cosign, specs/SIGNATURE_SPEC.md, "Tag-based
// discovery").
func Tags(digest v1.Hash) []string {
	return []string{tagOf(digest, "sig"), tagOf(digest, "att"), tagOf(digest, "sbom")}
}

func tagOf(digest v1.Hash, kind string) string {
	return digest.Algorithm + "-" + digest.Hex + "." + kind
}

// Sign signs what has this digest in repo. A signature by an ECDSA key is another
// one each time.
func (k *PrivateKey) Sign(repo name.Repository, digest v1.Hash) (Signature, error) {
	text, err := json.Marshal(payload.Cosign{Image: repo.Digest(digest.String())})
	if err != nil {
		return Signature{}, fmt.Errorf("encoding what is signed of %s: %w", digest, err)
	}
	value, err := k.sign(text)
	if err != nil {
		return Signature{}, fmt.Errorf("signing %s: %w", digest, err)
	}
	return Signature{text, value}, nil
}

// digest returns the digest that s is about, for a signature that its key made.
func (s Signature) digest() (v1.Hash, error) {
	var p payload.SimpleContainerImage
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return v1.Hash{}, errors.New("it is not the JSON of a simple signing document")
	}
	if p.Critical.Type != payload.CosignSignatureType {
		return v1.Hash{}, fmt.Errorf("its type is %q, not %q", p.Critical.Type, payload.CosignSignatureType)
	}
	h, err := v1.NewHash(p.Critical.Image.DockerManifestDigest)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("%q, which it is about, is no digest", p.Critical.Image.DockerManifestDigest)
	}
	return h, nil
}

// Count returns how many of these signatures k's private key made of a digest.
// The repository that they name does not count: a copy is signed as well as the
// original.
func (k *PublicKey) Count(signatures []Signature, digest v1.Hash) int {
	good, _ := k.sort(signatures, digest)
	return good
}

// sort returns how many of these signatures k's private key made of a digest, and
// what is wrong with the others that it made.
func (k *PublicKey) sort(signatures []Signature, digest v1.Hash) (good int, wrong []string) {
	for _, s := range signatures {
		if !k.made(s) {
			continue
		}
		switch of, err := s.digest(); {
		case err != nil:
			wrong = append(wrong, "what the key has signed is no statement on an image: "+err.Error())
		case of != digest:
			wrong = append(wrong, fmt.Sprintf("what the key has signed is %s", of))
		default:
			good++
		}
	}
	return good, wrong
}

// Check says how many of an image's signatures each key made of its digest. One
// by any of the keys is enough, as one authority is for Crossplane's ImageConfig;
// none at all is an error that says what there is in its place.
func Check(signatures []Signature, digest v1.Hash, keys ...*PublicKey) (by []int, err error) {
	found := false
	var wrong []string
	for _, k := range keys {
		good, more := k.sort(signatures, digest)
		found = found || good > 0
		by, wrong = append(by, good), append(wrong, more...)
	}
	switch {
	case found:
		return by, nil
	case len(signatures) == 0:
		return nil, hint.Wrap(fmt.Errorf("%s has no signature", digest), "sign the package when you push it: xfn xpkg push "+hint.SignKey+" FILE")
	case len(wrong) > 0:
		return nil, fmt.Errorf("%s is not what was signed: %s", digest, strings.Join(wrong, "; "))
	default:
		return nil, othersError(digest, len(signatures), len(keys))
	}
}

// othersError says that there are signatures, and none by the keys.
func othersError(digest v1.Hash, signatures, keys int) error {
	have, by := "1 signature", "the key"
	if signatures != 1 {
		have = fmt.Sprintf("%d signatures", signatures)
	}
	if keys != 1 {
		by = fmt.Sprintf("any of the %d keys", keys)
	}
	return fmt.Errorf("%s has %s, and none by %s: they were made by others, or changed", digest, have, by)
}
