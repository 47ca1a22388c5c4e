package signature_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/signature"
)

func TestStatement(t *testing.T) {
	digest := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}
	given := `"predicateType":"https://example.org/x","subject":[{"uri":"x","digest":{"sha256":"` + digest.Hex + `"}}],"predicate":{"a":"<1>"},"more":1}`
	cases := map[string]struct{ reason, predicate, want, err string }{
		"Predicate": {
			"a predicate becomes a Statement about the image", ` {"a": 1}`,
			`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"r","digest":{"sha256":"` + digest.Hex + `"}}],"predicateType":"https://example.org/x","predicate":{"a":1}}`, "",
		},
		"Statement": {"a Statement keeps the fields that xfn does not know", `{ "_type":"https://in-toto.io/Statement/v1",` + given, `{"_type":"https://in-toto.io/Statement/v1",` + given, ""},
		"Null":      {"null is not a predicate", "null", "", "expected a JSON object"},
		"List":      {"a list is not a predicate", "[]", "", "expected a JSON object"},
		"Empty":     {"an empty file is not a predicate", "", "", "expected a JSON object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := signature.Statement("r", digest, "https://example.org/x", []byte(tc.predicate))
			if tc.err != "" {
				checkError(t, tc.reason, err, tc.err, "")
			} else {
				e2e.NoError(t, err)
			}
			e2e.Equal(t, tc.reason, tc.want, string(got))
		})
	}
}

// TestStatementTypes checks that the error for a predicate of several other types is always the same.
func TestStatementTypes(t *testing.T) {
	for range 20 {
		_, err := signature.Statement("r", v1.Hash{Algorithm: "sha256", Hex: "ab"}, signature.Provenance, []byte(`{"spdxVersion":"SPDX-2.3","bomFormat":"CycloneDX"}`))
		e2e.ErrorHas(t, "CycloneDX is compared first", err, "because it has bomFormat")
	}
}

// TestAttestedSignatures checks how many signatures an envelope may have.
func TestAttestedSignatures(t *testing.T) {
	t.Parallel()
	digest := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}
	k := e2e.Must(signature.Generate())(t)
	signed := e2e.Must(k.Attest(e2e.Must(signature.Statement("r", digest, "https://example.org/x", []byte("{}")))(t)))(t)
	for count, want := range map[int]int{2: 1, 16: 1, 17: 0} {
		var envelope map[string]any
		e2e.NoError(t, json.Unmarshal(signed.Payload, &envelope))
		all := slices.Repeat([]any{map[string]any{"sig": "eA=="}}, count-1)
		envelope["signatures"] = append(all, envelope["signatures"].([]any)...)
		payload := e2e.Must(json.Marshal(envelope))(t)
		got := signature.Attested([]signature.Signature{{Payload: payload}}, digest, k.Public())
		if len(got["https://example.org/x"]) != want {
			t.Errorf("an envelope whose last of %d signatures is valid has %d attestations, want %d", count, len(got), want)
		}
	}
}
