package signature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/hint"
)

const (
	// envelopeType is the media type of a layer with an attestation: a DSSE envelope.
	envelopeType types.MediaType = "application/vnd.dsse.envelope.v1+json"
	// statementType is the media type of the envelope's payload: an in-toto Statement.
	statementType = "application/vnd.in-toto+json"
	// statementVersion is the type of new Statements (in-toto attestation, spec/v1).
	statementVersion = "https://in-toto.io/Statement/v1"
	// maxEnvelope limits the bytes of an envelope.
	maxEnvelope = 16 << 20
	// maxSigners limits the signatures of an envelope: to verify one hashes the whole payload.
	maxSigners = 16
)

// A statement is an in-toto Statement: a claim about subjects.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

func (s statement) isAbout(digest v1.Hash) bool {
	return slices.ContainsFunc(s.Subject, func(s subject) bool { return s.Digest[digest.Algorithm] == digest.Hex })
}

// Statement returns the in-toto Statement that the image with this name and digest has the
// predicate. If predicate is a Statement itself, it is about the image or an error, and the
// result has all its fields.
func Statement(name string, digest v1.Hash, predicateType string, predicate []byte) ([]byte, error) {
	var given statement
	var compact bytes.Buffer
	if json.Compact(&compact, predicate) != nil || compact.Bytes()[0] != '{' || json.Unmarshal(predicate, &given) != nil {
		return nil, errors.New("expected a JSON object")
	}
	if given.Type == "" || len(given.Subject) == 0 {
		if err := checkPredicate(predicateType, predicate); err != nil {
			return nil, err
		}
		return json.Marshal(statement{
			Type: statementVersion, PredicateType: predicateType, Predicate: predicate,
			Subject: []subject{{name, map[string]string{digest.Algorithm: digest.Hex}}},
		})
	}
	switch {
	case given.PredicateType != predicateType:
		return nil, hint.Wrap(fmt.Errorf("it has the type %q, not %q", given.PredicateType, predicateType), "attach it with its own type")
	case !given.isAbout(digest):
		return nil, fmt.Errorf("it is about another digest than %s", digest)
	}
	return compact.Bytes(), nil
}

// The types of predicates besides TestResult that are known by their fields (in-toto attestation,
// spec/predicates).
const (
	CycloneDX  = "https://cyclonedx.org/bom"
	Provenance = "https://slsa.dev/provenance/v1"
	SPDX       = "https://spdx.dev/Document"
)

// checkPredicate returns an error if a predicate lacks the required field of its type, and has the
// required field of another type.
func checkPredicate(predicateType string, predicate []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(predicate, &fields); err != nil {
		return err
	}
	required := map[string]string{CycloneDX: "bomFormat", Provenance: "buildDefinition", SPDX: "spdxVersion", TestResult: "result"}
	if own := required[predicateType]; own == "" || fields[own] != nil {
		return nil
	}
	for _, other := range []struct{ name, uri string }{{"cyclonedx", CycloneDX}, {"slsaprovenance1", Provenance}, {"spdx", SPDX}} {
		if field := required[other.uri]; fields[field] != nil {
			return hint.Wrap(fmt.Errorf("it is of type %q, because it has %s", other.uri, field), hint.Meant("the type ", other.name))
		}
	}
	return nil
}

// TestResult is the type of the predicate about a run of tests (in-toto attestation,
// spec/predicates/test-result.md).
const TestResult = "https://in-toto.io/attestation/test-result/v0.1"

// Passed reports whether a Statement is not about tests, or says that they passed.
func Passed(text []byte) bool {
	var s statement
	var p struct {
		Result string `json:"result"`
	}
	return json.Unmarshal(text, &s) == nil && (s.PredicateType != TestResult || json.Unmarshal(s.Predicate, &p) == nil && p.Result == "PASSED")
}

// An envelope is a DSSE envelope (secure-systems-lab/dsse, envelope.md).
type envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     []byte              `json:"payload"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// signed returns the bytes that are signed (DSSE's pre-authentication encoding).
func (e envelope) signed() []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

// Attest returns an attestation: the signature of a Statement in a DSSE envelope.
func (k *PrivateKey) Attest(statement []byte) (Signature, error) {
	e := envelope{PayloadType: statementType, Payload: statement}
	value, err := k.SignText(e.signed())
	if err != nil {
		return Signature{}, fmt.Errorf("signing an attestation: %w", err)
	}
	e.Signatures = []envelopeSignature{{Sig: value}}
	raw, err := json.Marshal(e)
	if err != nil {
		return Signature{}, fmt.Errorf("encoding an attestation: %w", err)
	}
	if len(raw) > maxEnvelope {
		return Signature{}, fmt.Errorf("the attestation is larger than the limit of %d MiB", maxEnvelope>>20)
	}
	return Signature{Payload: raw, Certificate: k.certificate, Chain: k.chain}, nil
}

// ReadAttestations returns the attestations in img, as Read returns signatures.
func ReadAttestations(img v1.Image) ([]Signature, error) { return read(img, envelopeType, maxEnvelope) }

// AppendAttestation returns a copy of img with an attestation as its last layer, as Append
// does with a signature.
func AppendAttestation(img v1.Image, s Signature) (v1.Image, error) {
	var e envelope
	var is statement
	if json.Unmarshal(s.Payload, &e) != nil || json.Unmarshal(e.Payload, &is) != nil {
		return nil, errors.New("adding an attestation: it is not an in-toto Statement")
	}
	return appendLayer(img, s, envelopeType, map[string]string{"predicateType": is.PredicateType})
}

// Attested returns the Statements about digest among attestations by v, by their predicate
// types. It ignores an envelope with more than 16 signatures.
func Attested(attestations []Signature, digest v1.Hash, v Verifier) map[string][][]byte {
	all := map[string][][]byte{}
	for _, a := range attestations {
		if s, payload, err := openEnvelope(v, a); err == nil && s.isAbout(digest) {
			all[s.PredicateType] = append(all[s.PredicateType], payload)
		}
	}
	return all
}

// IsAttestation reports whether the payload is an envelope with a Statement that says more than
// that the image is signed. It verifies nothing.
func (s Signature) IsAttestation() bool {
	var e envelope
	var is statement
	return len(s.Value) == 0 && json.Unmarshal(s.Payload, &e) == nil && json.Unmarshal(e.Payload, &is) == nil && is.PredicateType != signType
}

// openEnvelope returns the Statement in the envelope a, parsed and as it was signed, if it has a
// signature by v.
func openEnvelope(v Verifier, a Signature) (s statement, payload []byte, err error) {
	var e envelope
	if json.Unmarshal(a.Payload, &e) != nil || e.PayloadType != statementType || len(e.Signatures) > maxSigners || json.Unmarshal(e.Payload, &s) != nil {
		return s, nil, errStranger
	}
	signed := e.signed()
	err = errStranger
	for _, one := range e.Signatures {
		err = v.verify(signed, one.Sig, a, func(key []byte) LogEntry { return EnvelopeEntry(a.Payload, key) })
		if err == nil {
			break
		}
	}
	return s, e.Payload, err
}

// signedStatement returns the digest of the image that the envelope a signs, if it is a
// signature by v and not another attestation. Of several images, it prefers digest.
func signedStatement(v Verifier, a Signature, digest v1.Hash) (of v1.Hash, err error) {
	s, _, err := openEnvelope(v, a)
	switch {
	case s.PredicateType != signType:
		return of, errStranger
	case err != nil:
		return of, err
	case s.isAbout(digest):
		return digest, nil
	case len(s.Subject) != 1 || s.Subject[0].Digest["sha256"] == "":
		return of, fmt.Errorf("%s signed a document that is not about an image", v)
	}
	return v1.Hash{Algorithm: "sha256", Hex: s.Subject[0].Digest["sha256"]}, nil
}

// AttestationTag returns the tag in a repository at which the attestations of a digest are
// stored: "sha256-HEX.att".
func AttestationTag(digest v1.Hash) string { return tagOf(digest, "att") }
