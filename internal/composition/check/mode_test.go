package check_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

// TestModes tests the table of modes in the section "Schema aware validation
// modes" of Crossplane's documentation.
func TestModes(t *testing.T) {
	text := pipeline(`  resources:
  - name: a
    base: {apiVersion: other.test/v1, kind: Unknown, spec: {any: 1}}
    patches:
    - {fromFieldPath: spec.none, toFieldPath: spec.any}
    - {fromFieldPath: spec.text, toFieldPath: 'spec..any'}
`)
	const (
		missing   = "MissingSchema"
		aware     = "NoSuchField"
		integrity = "InvalidInput"
	)
	annotated := func(mode string) string {
		return strings.Replace(text, "{name: widgets}", "{name: widgets, annotations: {crossplane.io/composition-schema-aware-validation-mode: "+mode+"}}", 1)
	}
	cases := map[string]struct {
		text     string
		mode     check.Mode
		warnings []string
	}{
		"warn":                                   {text, check.Warn, []string{missing, aware}},
		"loose":                                  {text, check.Loose, []string{missing}},
		"strict":                                 {text, check.Strict, nil},
		"default":                                {text, check.ByAnnotation, []string{missing, aware}},
		"annotation warn":                        {annotated("warn"), check.ByAnnotation, []string{missing, aware}},
		"annotation loose":                       {annotated("loose"), check.ByAnnotation, []string{missing}},
		"the annotation selects the mode strict": {annotated("strict"), check.ByAnnotation, nil},
		"the flag overrides the annotation strict": {annotated("strict"), check.Warn, []string{missing, aware}},
		"the flag overrides the annotation warn":   {annotated("warn"), check.Strict, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var kinds, warnings []string
			for _, p := range check.Composition(t.Context(), entry(t, tc.text), options(known(t).Definition, tc.mode)) {
				kinds = append(kinds, string(p.Kind))
				if p.Warning {
					warnings = append(warnings, string(p.Kind))
				}
			}
			e2e.Equal(t, "each mode reports all problems", []string{missing, aware, integrity}, kinds)
			e2e.Equal(t, "the mode decides which problems are warnings", tc.warnings, warnings)
		})
	}
	t.Run("no mode", func(t *testing.T) {
		got := lines(check.Composition(t.Context(), entry(t, annotated("odd")), options(known(t).Definition, check.Strict)))
		if want := `3 metadata.annotations.crossplane.io/composition-schema-aware-validation-mode: UnknownValidationMode: expected the validation mode warn, loose or strict, got "odd"`; len(got) != 4 || got[0] != want {
			t.Errorf("got %q, want 4 with %q first", got, want)
		}
	})
}

func TestParseMode(t *testing.T) {
	for _, name := range []string{"warn", "loose", "strict"} {
		if m, err := check.ParseMode(name); err != nil || string(m) != name {
			t.Errorf("%q: got %q, %v", name, m, err)
		}
	}
	for _, name := range []string{"", "Warn", "off"} {
		if _, err := check.ParseMode(name); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
}

// TestMissingSchemas checks that a missing schema is reported once, and that
// other schemas are still used.
func TestMissingSchemas(t *testing.T) {
	input := func(apiVersion string) string {
		return pipeline("  resources:\n  - name: a\n    base: {apiVersion: " + apiVersion + ", kind: Bucket, spec: {any: {}}}\n    patches:\n    - {fromFieldPath: spec.text, toFieldPath: spec.a}\n    - {fromFieldPath: spec.b, toFieldPath: spec.b}\n  - {name: b, base: {apiVersion: " + apiVersion + ", kind: Bucket}}\n")
	}
	const xrs = "18 spec.pipeline[0].input.resources[0].patches[1].fromFieldPath: NoSuchField: kind XWidget of gold.test/v1 has no field spec.b"
	const at = "15 spec.pipeline[0].input.resources[0].base: MissingSchema: "
	cases := map[string]struct {
		reason, text string
		schemas      schema.Definitions
		want         []string
	}{
		"Nobody":   {"an undefined kind has no schema", input("none.test/v1"), known(t), []string{at + "no schema of kind Bucket of none.test/v1 was found, so its fields are not checked", xrs}},
		"Version":  {"an undefined version has no schema", input("gold.test/v2"), known(t), []string{at + "the fields of kind Bucket of gold.test/v2 are not checked: version v2 does not exist; the versions are v1, v0, v9", xrs}},
		"Invalid":  {"a schema that is not structural cannot be used", input("gold.test/v0"), known(t), []string{at + "the fields of kind Bucket of gold.test/v0 are not checked: the schema of version v0 cannot be used: spec.versions[1].schema.openAPIV3Schema.properties.spec.properties.a.type is required: must not be empty for specified object fields", xrs}},
		"NoSchema": {"a version may have no schema", input("gold.test/v9"), known(t), []string{at + "the fields of kind Bucket of gold.test/v9 are not checked: version v9 has no schema", xrs}},
		"Nothing": {"without definitions every kind is reported", input("gold.test/v1"), nil, []string{
			"5 spec.compositeTypeRef: MissingSchema: no schema of kind XWidget of gold.test/v1 was found, so its fields are not checked",
			at + "no schema of kind Bucket of gold.test/v1 was found, so its fields are not checked",
		}},
		"BuiltIn": {"a kind of Kubernetes has the fields of its Go type", pipeline("  resources:\n  - name: a\n    base: {apiVersion: v1, kind: Pod, metadata: {lables: {}}, spec: {nodeNam: a, containers: [{image: 5, resources: {limits: {cpu: 1}}}]}}\n"), known(t), []string{
			"15 spec.pipeline[0].input.resources[0].base.metadata.lables: NoSuchField: kind Pod of v1 has no field metadata.lables, did you mean metadata.labels?",
			"15 spec.pipeline[0].input.resources[0].base.spec.containers[0].image: WrongType: spec.containers[0].image of kind Pod of v1 must be a string, got an integer",
			"15 spec.pipeline[0].input.resources[0].base.spec.nodeNam: NoSuchField: kind Pod of v1 has no field spec.nodeNam, did you mean spec.nodeName?",
		}},
		"NotNeeded": {"a missing schema that is not used is not reported", pipeline("  resources:\n  - {name: a}\n"), nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(check.Composition(t.Context(), entry(t, tc.text), options(tc.schemas.Definition, check.Strict)))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
