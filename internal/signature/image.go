package signature

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// mediaType is the media type of a layer with a payload.
const mediaType types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"

const (
	// annotation is the key of the annotation with a layer's signature, in base64.
	annotation = "dev.cosignproject.cosign/signature"

	// maxSignatures limits the signatures of an image, as in cosign.
	maxSignatures = 1000
	// maxPayload and maxValue limit the bytes of a payload, which has about 300 and
	// what its signer adds, and of a signature in base64, which has 684 with RSA.
	maxPayload = 64 << 10
	maxValue   = 4 << 10
)

// Read returns the signatures in img, in their order. It returns the zero value for one
// that is too large or not base64, and ignores other layers. The layers of img must
// verify their digests.
func Read(img v1.Image) ([]Signature, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	if n := len(m.Layers); n > maxSignatures {
		return nil, fmt.Errorf("there are %d signatures, more than the limit of %d", n, maxSignatures)
	}
	var all []Signature
	payloads := map[v1.Hash][]byte{} // Signatures by several keys often share one.
	for _, d := range m.Layers {
		value := d.Annotations[annotation]
		if d.MediaType != mediaType {
			continue
		}
		s := Signature{}
		if raw, err := base64.StdEncoding.DecodeString(value); err == nil && len(value) <= maxValue && d.Size <= maxPayload {
			if payloads[d.Digest] == nil {
				if payloads[d.Digest], err = readPayload(img, d.Digest); err != nil {
					return nil, fmt.Errorf("reading the signed document %s: %w", d.Digest, err)
				}
			}
			s = Signature{payloads[d.Digest], raw}
		}
		all = append(all, s)
	}
	return all, nil
}

func readPayload(img v1.Image, digest v1.Hash) (_ []byte, err error) {
	l, err := img.LayerByDigest(digest)
	if err != nil {
		return nil, err
	}
	rc, err := l.Compressed() // the stored bytes
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	text, err := io.ReadAll(io.LimitReader(rc, maxPayload+1))
	if err == nil && len(text) > maxPayload {
		err = fmt.Errorf("it has more than %d KiB", maxPayload>>10)
	}
	return text, err
}

// Append returns img with one more signature at its end. A nil img has none.
func Append(img v1.Image, s Signature) (v1.Image, error) {
	if img == nil {
		img = mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	if n := len(m.Layers); n >= maxSignatures {
		return nil, fmt.Errorf("there are %d signatures already, which is the limit", n)
	}
	img, err = mutate.Append(img, mutate.Addendum{
		Layer:       static.NewLayer(s.Payload, mediaType),
		Annotations: map[string]string{annotation: base64.StdEncoding.EncodeToString(s.Value)},
		MediaType:   mediaType,
	})
	if err != nil {
		return nil, fmt.Errorf("adding a signature: %w", err)
	}
	return img, nil
}
