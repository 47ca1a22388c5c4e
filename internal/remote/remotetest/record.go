package remotetest

import (
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"
)

type object = map[string]any

// record returns the body of the entry for a request. It verifies signatures, as Rekor does.
func record(r io.Reader) ([]byte, error) {
	var request struct {
		APIVersion, Kind string
		Spec             json.RawMessage
	}
	if err := json.NewDecoder(r).Decode(&request); err != nil {
		return nil, err
	}
	var spec any
	var err error
	switch request.Kind + " " + request.APIVersion {
	case "hashedrekord 0.0.1":
		spec, err = hashedrekord(request.Spec)
	case "dsse 0.0.1":
		spec, err = dsse(request.Spec)
	default:
		err = fmt.Errorf("the type %q is not supported", request.Kind)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(object{"apiVersion": request.APIVersion, "kind": request.Kind, "spec": spec})
}

func hashedrekord(raw []byte) (any, error) {
	var spec struct {
		Data struct {
			Hash struct{ Algorithm, Value string }
		}
		Signature struct {
			Content   []byte
			PublicKey struct{ Content []byte }
		}
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, err
	}
	key, err := verifierOf(spec.Signature.PublicKey.Content)
	if err != nil {
		return nil, err
	}
	digest, err := hex.DecodeString(spec.Data.Hash.Value)
	if err != nil || spec.Data.Hash.Algorithm != "sha256" {
		return nil, errors.New("the digest is not a SHA-256")
	}
	if err := key.VerifySignature(strings.NewReader(string(spec.Signature.Content)), strings.NewReader(""), options.WithDigest(digest)); err != nil {
		return nil, errors.New("the signature is wrong")
	}
	return object{
		"data":      object{"hash": object{"algorithm": "sha256", "value": spec.Data.Hash.Value}},
		"signature": object{"content": spec.Signature.Content, "publicKey": object{"content": spec.Signature.PublicKey.Content}},
	}, nil
}

func dsse(raw []byte) (any, error) {
	var spec struct {
		ProposedContent struct {
			Envelope  string
			Verifiers [][]byte
		}
	}
	var envelope struct {
		Payload     []byte
		PayloadType string
		Signatures  []struct{ Sig []byte }
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(spec.ProposedContent.Envelope), &envelope); err != nil {
		return nil, err
	}
	if len(spec.ProposedContent.Verifiers) != 1 || len(envelope.Signatures) != 1 {
		return nil, errors.New("expected one signature and one key")
	}
	key, err := verifierOf(spec.ProposedContent.Verifiers[0])
	if err != nil {
		return nil, err
	}
	signed := fmt.Sprintf("DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload), envelope.Payload)
	if err := key.VerifySignature(strings.NewReader(string(envelope.Signatures[0].Sig)), strings.NewReader(signed)); err != nil {
		return nil, errors.New("the signature is wrong")
	}
	return object{
		"envelopeHash": object{"algorithm": "sha256", "value": hex.EncodeToString(sum([]byte(spec.ProposedContent.Envelope)))},
		"payloadHash":  object{"algorithm": "sha256", "value": hex.EncodeToString(sum(envelope.Payload))},
		"signatures": []object{{
			"signature": base64.StdEncoding.EncodeToString(envelope.Signatures[0].Sig), "verifier": spec.ProposedContent.Verifiers[0],
		}},
	}, nil
}

// verifierOf returns the verifier for a public key or a certificate in PEM.
func verifierOf(text []byte) (signature.Verifier, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the key is not in PEM")
	}
	if block.Type != "CERTIFICATE" {
		key, err := cryptoutils.UnmarshalPEMToPublicKey(text)
		if err != nil {
			return nil, err
		}
		return signature.LoadVerifier(key, crypto.SHA256)
	}
	all, err := cryptoutils.UnmarshalCertificatesFromPEM(text)
	if err != nil || len(all) != 1 {
		return nil, errors.New("expected one certificate")
	}
	return signature.LoadVerifier(all[0].PublicKey, crypto.SHA256)
}
