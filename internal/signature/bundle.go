package signature

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// BundleType is the artifact type of a manifest with a Sigstore bundle, and the media type
	// of its layer (sigstore/cosign, specs/BUNDLE_SPEC.md). cosign v3 stores signatures and
	// attestations in such manifests, whose subject is the image.
	BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// signType is the type of the predicate of a Statement that only says that the image is signed.
	signType = "https://sigstore.dev/cosign/sign/v1"
	// maxBundle limits the bytes of a bundle, which contains an envelope in base64.
	maxBundle = 2 * maxEnvelope
)

// bundle is a Sigstore bundle with an envelope (sigstore/protobuf-specs, sigstore_bundle.proto).
type bundle struct {
	MediaType            string
	VerificationMaterial struct {
		Certificate struct{ RawBytes []byte }
		TlogEntries []BundleEntry
	}
	DSSEEnvelope json.RawMessage
}

// ReadBundle returns the signature or the attestation in a manifest with a Sigstore bundle. The
// payload is an envelope.
func ReadBundle(img v1.Image) (s Signature, err error) {
	m, err := img.Manifest()
	if err != nil {
		return s, fmt.Errorf("reading the manifest of a bundle: %w", err)
	}
	if len(m.Layers) != 1 || m.Layers[0].MediaType != BundleType {
		return s, errors.New("expected a manifest with one Sigstore bundle")
	}
	text, err := readPayload(img, m.Layers[0].Digest, maxBundle)
	if err != nil {
		return s, fmt.Errorf("reading a bundle: %w", err)
	}
	return ParseBundle(text)
}

// ParseBundle parses the JSON of a Sigstore bundle, as ReadBundle does. It verifies nothing.
func ParseBundle(text []byte) (s Signature, err error) {
	var b bundle
	var e envelope
	switch {
	case json.Unmarshal(text, &b) != nil || b.MediaType != BundleType:
		return s, fmt.Errorf("expected a Sigstore bundle of the type %s", BundleType)
	case json.Unmarshal(b.DSSEEnvelope, &e) != nil || len(e.Signatures) != 1:
		return s, errors.New("expected a Sigstore bundle with an envelope that has one signature")
	case len(b.VerificationMaterial.TlogEntries) > 1:
		return s, errors.New("a Sigstore bundle has several log entries, which is not supported")
	}
	s.Payload = b.DSSEEnvelope
	if der := b.VerificationMaterial.Certificate.RawBytes; len(der) > 0 {
		s.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	for _, entry := range b.VerificationMaterial.TlogEntries {
		if s.Bundle, err = entry.Bundle(); err != nil {
			return Signature{}, fmt.Errorf("reading the log entry of a Sigstore bundle: %w", err)
		}
	}
	return s, nil
}
