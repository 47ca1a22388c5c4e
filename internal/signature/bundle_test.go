package signature_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

// signType is the predicate type of cosign's signatures in bundles.
const signType = "https://sigstore.dev/cosign/sign/v1"

// bundle returns a Sigstore bundle with a Statement about an image, which change may change.
func (k keyless) bundle(t *testing.T, of v1.Hash, predicateType string, change func(entry map[string]any)) []byte {
	t.Helper()
	key := k.certified(t)
	attested := e2e.Must(key.Attest(e2e.Must(signature.Statement("conf", of, predicateType, []byte("{}")))(t)))(t)
	var entry remotetest.Entry
	k.log.Change = func(e *remotetest.Entry) { entry = *e }
	e2e.Must(k.client.Add(t.Context(), signature.EnvelopeEntry(attested.Payload, attested.Certificate)))(t)
	return remotetest.Bundle(t, attested.Payload, attested.Certificate, entry, change)
}

// A signature in a Sigstore bundle is accepted only with the proofs of the log.
func TestBundle(t *testing.T) {
	t.Parallel()
	field := func(path string, value any) func(map[string]any) {
		return func(entry map[string]any) {
			keys := strings.Split(path, ".")
			for _, key := range keys[:len(keys)-1] {
				entry = entry[key].(map[string]any)
			}
			entry[keys[len(keys)-1]] = value
		}
	}
	other := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}
	cases := map[string]struct {
		reason string
		of     v1.Hash
		kind   string
		change func(entry map[string]any)
		want   string
	}{
		"Valid":       {"a signature with all proofs is accepted", digest, signType, nil, ""},
		"Number":      {"numbers need not be strings", digest, signType, field("inclusionProof.logIndex", 5), ""},
		"Index":       {"the inclusion proof of another entry is refused", digest, signType, field("inclusionProof.logIndex", "4"), "the inclusion proof is wrong: the log does not contain the entry"},
		"Root":        {"the proof of another tree is refused", digest, signType, field("inclusionProof.rootHash", make([]byte, 32)), "the inclusion proof and the log's checkpoint are about different trees"},
		"Checkpoint":  {"a checkpoint without a signature of the log is refused", digest, signType, field("inclusionProof.checkpoint.envelope", "x"), "the log's checkpoint is not by the log's key"},
		"Time":        {"a changed time is refused", digest, signType, field("integratedTime", "1"), "the signed entry timestamp is not by the log's key, or the entry was changed"},
		"Promise":     {"a log must sign the time", digest, signType, field("inclusionPromise", map[string]any{}), "the entry has no signed entry timestamp, so the log does not prove its time"},
		"Body":        {"the entry of another signature is refused", digest, signType, field("canonicalizedBody", []byte("{}")), "the signed entry timestamp is not by the log's key, or the entry was changed"},
		"OtherImage":  {"a signature of another image is refused", other, signType, nil, "the identity signed " + other.String()},
		"Attestation": {"an attestation is not a signature", digest, "https://example.org/x", nil, "has 1 signature, but none by the identity"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyless(t)
			s := e2e.Must(signature.ParseBundle(k.bundle(t, tc.of, tc.kind, tc.change)))(t)
			v := e2e.Must(signature.NewIdentity(regexp.MustCompile(regexp.QuoteMeta(subject)), remotetest.Issuer, k.authority.Root, k.client.Key, nil))(t)
			by, err := signature.Check([]signature.Signature{s}, digest, v)
			if tc.want != "" {
				checkError(t, tc.reason, err, tc.want, "")
			} else if err != nil || by[0] != 1 {
				t.Errorf("%s: got %v, error %v", tc.reason, by, err)
			}
			if isAttestation := tc.kind != signType; s.IsAttestation() != isAttestation || len(signature.Attested([]signature.Signature{s}, digest, v)["https://example.org/x"]) > 0 != isAttestation {
				t.Errorf("%s: IsAttestation is %t, want %t", tc.reason, s.IsAttestation(), isAttestation)
			}
		})
	}
}

// A bundle without what its version requires is refused.
func TestParseBundle(t *testing.T) {
	t.Parallel()
	k := newKeyless(t)
	valid := k.bundle(t, digest, signType, nil)
	replace := func(old, new string) []byte {
		text := bytes.Replace(valid, []byte(old), []byte(new), 1)
		if bytes.Equal(text, valid) {
			t.Fatalf("the bundle has no %s", old)
		}
		return text
	}
	for name, tc := range map[string]struct {
		reason string
		text   []byte
		want   string
	}{
		"Type":     {"other versions are refused", replace("v0.3", "v0.4"), "expected a Sigstore bundle of the type"},
		"JSON":     {"a bundle is JSON", []byte("x"), "expected a Sigstore bundle of the type"},
		"Envelope": {"a bundle must have an envelope", replace(`"dsseEnvelope"`, `"messageSignature"`), "expected a Sigstore bundle with an envelope that has one signature"},
		"Unsigned": {"the envelope must have a signature", replace(`"signatures"`, `"none"`), "expected a Sigstore bundle with an envelope that has one signature"},
		"NoProof":  {"an entry must have an inclusion proof", replace(`"inclusionProof"`, `"none"`), "the entry has no inclusion proof"},
		"Number":   {"an index is a number", replace(`"logIndex":"1005"`, `"logIndex":"1.5"`), "the entry has an invalid number"},
		"Entries":  {"two entries are refused", replace(`"tlogEntries":[`, `"tlogEntries":[{},`), "several log entries"},
	} {
		e2e.ErrorHas(t, fmt.Sprintf("%s: %s", name, tc.reason), e2e.Err(signature.ParseBundle(tc.text)), tc.want)
	}
}

// No bundle is a signature of an image unless the key of the identity signed it.
func FuzzBundle(f *testing.F) {
	key := remotetest.SignKey(f)
	f.Add([]byte(`{"mediaType":"` + signature.BundleType + `","dsseEnvelope":{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":"e30="}]},"verificationMaterial":{"tlogEntries":[{"inclusionProof":{}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := signature.ParseBundle(text)
		if err != nil {
			return
		}
		if !json.Valid(s.Payload) || key.Public().Count([]signature.Signature{s}, digest) > 0 {
			t.Errorf("%q has a valid signature", text)
		}
	})
}
