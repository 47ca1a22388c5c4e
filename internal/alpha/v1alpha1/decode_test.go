package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// reencoded decodes a FunctionIO and encodes the result.
func reencoded(t *testing.T, text string) string {
	t.Helper()
	io := e2e.Must(v1alpha1.Decode([]byte(text)))(t)
	return string(e2e.Must(v1alpha1.Encode(io))(t))
}

const nothing = `desired:
  composite:
    connectionDetails: null
    resource: null
observed:
  composite:
    resource: null
`

func TestDecode(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Nothing":   {"empty output is an empty FunctionIO", "", nothing},
		"Null":      {"a null is an empty FunctionIO", "null", nothing},
		"Comment":   {"a comment is an empty FunctionIO", "# hello", nothing},
		"Unknown":   {"unknown fields are dropped", "a: 1\ndesired: {b: 2}", nothing},
		"AnyType":   {"apiVersion and kind are not checked", "apiVersion: v7\nkind: Pod", "apiVersion: v7\n" + nothing[:strings.Index(nothing, "observed")] + "kind: Pod\n" + nothing[strings.Index(nothing, "observed"):]},
		"JSON":      {"JSON is accepted", `{"results": [{"severity": "Odd", "message": "m"}]}`, nothing + "results:\n- message: m\n  severity: Odd\n"},
		"First":     {"only the first of several documents is decoded", "results: []\n---\n[unclosed", nothing},
		"Scalars":   {"numbers and booleans become strings where strings are expected", `{results: [{severity: Normal, message: 007}, {severity: Normal, message: yes}]}`, nothing + "results:\n- message: \"7\"\n  severity: Normal\n- message: \"true\"\n  severity: Normal\n"},
		"Ampersand": {"a string may contain an ampersand", `{results: [{severity: Normal, message: "a & b"}]}`, nothing + "results:\n- message: a & b\n  severity: Normal\n"},
		"Alias":     {"aliases are expanded", "results: [&a {severity: Normal, message: m}, *a]", nothing + "results:\n- message: m\n  severity: Normal\n- message: m\n  severity: Normal\n"},
		"Integers":  {"integers keep their type", "desired: {composite: {connectionDetails: [], resource: {count: 9007199254740993, kind: X}}}", "desired:\n  composite:\n    connectionDetails: []\n    resource:\n      count: 9007199254740993\n      kind: X\n" + nothing[strings.Index(nothing, "observed"):]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, reencoded(t, tc.text))
		})
	}
}

func TestDecodeWhatDoesNotFit(t *testing.T) {
	const converting = "error converting YAML to JSON: "
	const decoding = "error unmarshaling JSON: while decoding JSON: "
	// Each line of laughs has ten aliases of the line before, so the size after
	// expansion grows tenfold with each line.
	laughs := "a: &a [" + strings.Repeat("lol, ", 9) + "lol]\n"
	for c := 'b'; c <= 'j'; c++ {
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "*" + string(c-1) + "]\n"
	}
	cases := map[string]struct{ reason, text, want string }{
		"NotYAML":  {"a list without its end is an error", "{desired: [unclosed", converting + "yaml: line 1: did not find expected ',' or ']'"},
		"List":     {"a list is an error", "[]", decoding + "json: cannot unmarshal array into Go value of type v1alpha1.FunctionIO"},
		"Results":  {"results that are not a list are an error", "results: 3", decoding + "json: cannot unmarshal number into Go struct field FunctionIO.results of type []v1alpha1.Result"},
		"Tab":      {"a tab as indentation is an error", "desired:\n\tcomposite:", converting + "yaml: line 2: found character that cannot start any token"},
		"Laughs":   {"aliases of aliases that expand to too many bytes are an error", laughs, converting + "the YAML aliases expand to more than 64 MiB"},
		"LongText": {"aliases of a long string that expand to too many bytes are an error", "a: &a \"" + strings.Repeat("x", 1<<20) + "\"\nb: [" + strings.Repeat("*a, ", 1<<10) + "*a]", converting + "the YAML aliases expand to more than 64 MiB"},
		"Itself":   {"a node that contains itself is an error", "a: &a [*a]", converting + "the YAML aliases expand to more than 64 MiB"},
		"NoAnchor": {"an alias without an anchor is an error", "a: &b c\nd: *e", converting + "yaml: unknown anchor 'e' referenced"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := v1alpha1.Decode([]byte(tc.text))
			e2e.Equal(t, tc.reason, tc.want, fmt.Sprint(err))
		})
	}
}

// TestEncode checks that the encoded FunctionIO omits empty fields, except
// lists of connection details.
func TestEncode(t *testing.T) {
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	config := raw(`{"kind": "C"}`)
	name, value := "n", ""
	out, err := v1alpha1.Encode(&v1alpha1.FunctionIO{
		Config: &config,
		Observed: v1alpha1.Observed{
			Composite: v1alpha1.ObservedComposite{Resource: raw(`{"kind": "X"}`), ConnectionDetails: []v1alpha1.ExplicitConnectionDetail{}},
			Resources: []v1alpha1.ObservedResource{{Name: "o", Resource: raw(`{"kind": "Y"}`), ConnectionDetails: []v1alpha1.ExplicitConnectionDetail{}}},
		},
		Desired: v1alpha1.Desired{
			Composite: v1alpha1.DesiredComposite{Resource: raw(`{"kind": "X"}`), ConnectionDetails: []v1alpha1.ExplicitConnectionDetail{}},
			Resources: []v1alpha1.DesiredResource{{
				Name: "d", Resource: raw(`{"kind": "Y"}`),
				ConnectionDetails: []v1alpha1.DerivedConnectionDetail{{Name: &name, Type: spec.FromValue, Value: &value}},
				ReadinessChecks:   []spec.ReadinessCheck{{Type: spec.CheckNone}},
			}},
		},
	})
	e2e.NoError(t, err)
	want := `config:
  kind: C
desired:
  composite:
    connectionDetails: []
    resource:
      kind: X
  resources:
  - connectionDetails:
    - name: "n"
      type: FromValue
      value: ""
    name: d
    readinessChecks:
    - type: None
    resource:
      kind: "Y"
observed:
  composite:
    resource:
      kind: X
  resources:
  - connectionDetails: []
    name: o
    resource:
      kind: "Y"
`
	e2e.Equal(t, "empty fields are omitted, except lists of connection details", want, string(out))
}

// FuzzDecode checks that a decoded FunctionIO is the same after it is encoded and
// decoded again.
func FuzzDecode(f *testing.F) {
	paths := e2e.Glob(f, "../../../testdata/golden/xfn-alpha/*.yaml")
	for _, path := range paths {
		text := []byte(e2e.ReadFile(f, path))
		if i := strings.Index(string(text), "stdout: |\n"); i >= 0 {
			f.Add(strings.ReplaceAll(string(text)[i+len("stdout: |\n"):], "\n    ", "\n"))
		}
	}
	for _, text := range []string{"", "null", "{desired: [unclosed", "a: &a [*a]", "desired: {composite: {resource: 3}}", "<<: &a {results: []}\nb: *a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		io, err := v1alpha1.Decode([]byte(text))
		if err != nil {
			return
		}
		out := e2e.Must(v1alpha1.Encode(io))(t)
		again, err := v1alpha1.Decode(out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		twice := e2e.Must(v1alpha1.Encode(again))(t)
		e2e.Equal(t, "the text after a second round", string(twice), string(out))
	})
}
