package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// A LogEntry is what a log records about a signature.
type LogEntry struct {
	kind string
	// spec is the content of a request for a new entry.
	spec any
	// check reports whether the spec that the log recorded is about this signature.
	check func(spec []byte) error
}

// entryDigest is the digest of signed bytes in an entry.
type entryDigest struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
}

func digestOf(text []byte) entryDigest {
	sum := sha256.Sum256(text)
	return entryDigest{"sha256", hex.EncodeToString(sum[:])}
}

// hashed is the spec of the type hashedrekord, version 0.0.1.
type hashed struct {
	Data struct {
		Hash entryDigest `json:"hash"`
	} `json:"data"`
	Signature struct {
		Content   []byte `json:"content"`
		PublicKey struct {
			Content []byte `json:"content"`
		} `json:"publicKey"`
	} `json:"signature"`
}

// HashedEntry returns the entry for the signature value of payload. key is the public key or the
// certificate that verifies the signature, in PEM.
func HashedEntry(payload, value, key []byte) LogEntry {
	var spec hashed
	spec.Data.Hash = digestOf(payload)
	spec.Signature.Content, spec.Signature.PublicKey.Content = value, key
	return LogEntry{"hashedrekord", spec, func(raw []byte) error {
		var got hashed
		if err := json.Unmarshal(raw, &got); err != nil {
			return errors.New("the entry is not a valid hashedrekord")
		}
		if got.Data != spec.Data || !bytes.Equal(got.Signature.Content, value) || !sameKey(got.Signature.PublicKey.Content, key) {
			return errOtherEntry
		}
		return nil
	}}
}

// proposed is the spec of the type dsse, version 0.0.1, in a request.
type proposed struct {
	ProposedContent struct {
		Envelope  string   `json:"envelope"`
		Verifiers [][]byte `json:"verifiers"`
	} `json:"proposedContent"`
}

// recorded is the spec of the type dsse, version 0.0.1, in a log.
type recorded struct {
	PayloadHash entryDigest `json:"payloadHash"`
	Signatures  []struct {
		Signature []byte `json:"signature"`
		Verifier  []byte `json:"verifier"`
	} `json:"signatures"`
}

// EnvelopeEntry returns the entry for a DSSE envelope in JSON, which contains one signature. key
// is the public key or the certificate that verifies it, in PEM. The log may have recorded
// another JSON of the envelope: clients differ in its white space.
func EnvelopeEntry(text, key []byte) LogEntry {
	var signed envelope
	invalid := json.Unmarshal(text, &signed) != nil || len(signed.Signatures) != 1
	var spec proposed
	spec.ProposedContent.Envelope, spec.ProposedContent.Verifiers = string(text), [][]byte{key}
	return LogEntry{"dsse", spec, func(raw []byte) error {
		var got recorded
		if err := json.Unmarshal(raw, &got); err != nil {
			return errors.New("the entry is not a valid dsse")
		}
		if invalid || got.PayloadHash != digestOf(signed.Payload) || len(got.Signatures) != 1 {
			return errOtherEntry
		}
		if s := got.Signatures[0]; !bytes.Equal(s.Signature, signed.Signatures[0].Sig) || !sameKey(s.Verifier, key) {
			return errOtherEntry
		}
		return nil
	}}
}

var errOtherEntry = errors.New("the entry is about another signature")

func sameKey(a, b []byte) bool {
	first, _ := pem.Decode(a)
	second, _ := pem.Decode(b)
	return first != nil && second != nil && bytes.Equal(first.Bytes, second.Bytes)
}

// entryVersion is the version of the types of entries.
const entryVersion = "0.0.1"

// entryBody is an entry in a request and in a log.
type entryBody[S any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       S      `json:"spec"`
}

// request returns the JSON value that asks a log to add e.
func (e LogEntry) request() any { return entryBody[any]{entryVersion, e.kind, e.spec} }

// verify returns an error unless the log recorded e with this body.
func (e LogEntry) verify(raw []byte) error {
	var got entryBody[json.RawMessage]
	if err := json.Unmarshal(raw, &got); err != nil {
		return errors.New("the entry is not valid JSON")
	}
	if got.Kind != e.kind || got.APIVersion != entryVersion {
		return fmt.Errorf("the entry has the type %s %s, expected %s %s", got.Kind, got.APIVersion, e.kind, entryVersion)
	}
	return e.check(got.Spec)
}
