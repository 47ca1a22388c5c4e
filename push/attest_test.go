package push_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

const spdx = "https://spdx.dev/Document"

// Attestations are signed, published and stored once by each key. Attestations by other keys stay.
func TestAttest(t *testing.T) {
	log := remotetest.ServeLog(t)
	mine, yours := remotetest.SignKey(t), remotetest.SignKey(t)
	ref, a := parse(t, remotetest.Serve(t, remotetest.Handler())), single(t)
	sbom := push.Attestation{Type: spdx, Predicate: []byte(`{"spdxVersion": "SPDX-2.3"}`)}
	custom := push.Attestation{Type: "https://example.org/x", Predicate: []byte(`{}`)}
	steps := []struct {
		reason string
		o      push.Options
		want   []int // attestations of type spdx by each key, all attestations, log entries, added attestations
	}{
		{"an attestation is added to a new package", push.Options{SignKey: mine.Signer(), Attestations: []push.Attestation{sbom}}, []int{1, 0, 1, 5, 1}},
		{"the same attestation is not repeated, and another one is added", push.Options{SignKey: mine.Signer(), Attestations: []push.Attestation{sbom, custom}}, []int{1, 0, 2, 5, 1}},
		{"another key adds its attestation, and a log has it and the signature", push.Options{SignKey: yours.Signer(), Attestations: []push.Attestation{sbom}, Log: &push.Log{URL: log.URL}}, []int{1, 1, 3, 7, 1}},
		{"what the key signed without a log is signed again for the log", push.Options{SignKey: mine.Signer(), Attestations: []push.Attestation{sbom}, Log: &push.Log{URL: log.URL}}, []int{2, 1, 4, 9, 1}},
		{"what is in the log is not repeated", push.Options{SignKey: mine.Signer(), Attestations: []push.Attestation{sbom}, Log: &push.Log{URL: log.URL}}, []int{2, 1, 4, 9, 0}},
		{"a dry run only counts", push.Options{SignKey: yours.Signer(), Attestations: []push.Attestation{sbom, custom}, DryRun: true}, []int{2, 1, 4, 9, 1}},
		{"a push without attestations keeps them", push.Options{}, []int{2, 1, 4, 9, 0}},
	}
	for _, s := range steps {
		res, err := push.Artifact(t.Context(), ref, a, s.o)
		if err != nil {
			t.Fatalf("%s: %v", s.reason, err)
		}
		_, all, err := image.Attestations(t.Context(), ref.Context(), res.Digest, remote.New(remote.Options{}))
		e2e.NoError(t, err)
		got := []int{len(signature.Attested(all, res.Digest, mine.Public())[spdx]), len(signature.Attested(all, res.Digest, yours.Public())[spdx]), len(all), log.Len(), res.Attested}
		e2e.Equal(t, s.reason, s.want, got)
	}
}

// An attestation that is not about the package is an error before the push.
func TestAttestOther(t *testing.T) {
	key := remotetest.SignKey(t)
	h := strings.Repeat("ab", 32)
	cases := map[string]struct {
		reason string
		o      push.Options
		want   string
	}{
		"Digest": {"a statement is about another digest", push.Options{SignKey: key.Signer(), Attestations: []push.Attestation{
			{Type: spdx, Predicate: []byte(`{"_type":"https://in-toto.io/Statement/v1","predicateType":"` + spdx + `","subject":[{"digest":{"sha256":"` + h + `"}}]}`)},
		}}, `reading the attestation of type "https://spdx.dev/Document": it is about another digest than sha256:`},
		"Type": {"a statement has another type", push.Options{SignKey: key.Signer(), Attestations: []push.Attestation{
			{Type: spdx, Predicate: []byte(`{"_type":"https://in-toto.io/Statement/v1","predicateType":"x","subject":[{"digest":{"sha256":"` + h + `"}}]}`)},
		}}, `it has the type "x", not "https://spdx.dev/Document"`},
		"JSON":  {"a predicate must be JSON", push.Options{SignKey: key.Signer(), Attestations: []push.Attestation{{Type: spdx, Predicate: []byte("SPDX")}}}, "expected a JSON object"},
		"NoKey": {"an attestation needs a key", push.Options{Attestations: []push.Attestation{{Type: spdx, Predicate: []byte("{}")}}}, "an attestation needs a signature, and no key signs the package"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ref, a := parse(t, remotetest.Serve(t, remotetest.Handler())), single(t)
			_, err := push.Artifact(t.Context(), ref, a, tc.o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "blobs") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
			if isAt(t, ref, a) {
				t.Errorf("%s: the tag moved", tc.reason)
			}
		})
	}
}
