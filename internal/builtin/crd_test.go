package builtin_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// refusedByServer are golden cases with inputs that an API server refuses, although the real
// functions accept them.
var refusedByServer = map[string]string{
	"xr-ttl-annotation":                    "only the main branch has the field ttl",
	"xr-ttl-negative":                      "only the main branch has the field ttl",
	"combine-bad-frompolicy-not-validated": "the function ignores the policy",
}

// TestCRDOfAccepted: the CRDs allow all other inputs of golden cases that the real functions
// accepted.
func TestCRDOfAccepted(t *testing.T) {
	folders := map[string]string{"auto-ready": "autoready", "patch-and-transform": "pt"}
	for _, b := range builtin.All() {
		short := strings.TrimPrefix(b.Name, "function-")
		folder := short
		if other, ok := folders[short]; ok {
			folder = other
		}
		t.Run(short, func(t *testing.T) {
			cases, err := filepath.Glob("../../testdata/golden/" + folder + "/*/request.yaml")
			if err != nil || len(cases) == 0 {
				t.Fatalf("there are no cases: %v", err)
			}
			v := validator(b)
			for _, path := range cases {
				if refusedByServer[filepath.Base(filepath.Dir(path))] != "" {
					continue
				}
				if input := accepted(t, path); input != nil {
					checkValid(t, v, b, path, input)
				}
			}
		})
	}
}

func validator(b builtin.Builtin) *validate.Validator {
	return validate.New([]validate.Definition{{Object: b.CRD()}}, validate.Options{Namespace: validate.DefaultNamespace})
}

// checkValid reports the faults of an input. It adds the fields that the real functions ignore.
func checkValid(t *testing.T, v *validate.Validator, b builtin.Builtin, path string, input map[string]any) {
	t.Helper()
	apiVersion, kind := b.ToAPIVersionAndKind()
	maps.Copy(input, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "input"}})
	text := e2e.Must(yaml.Marshal(input))(t)
	results := v.Document(t.Context(), manifest.Document{Path: path, Line: 1, Text: text})
	if len(results) != 1 || results[0].Status != validate.Valid {
		t.Errorf("%s: got %+v for\n%s", path, results, text)
	}
}

// accepted returns the input of a case, or nil if the case has no input or the function
// refused it. It removes nulls, which mean absence to the functions, but not to an API server.
func accepted(t *testing.T, path string) map[string]any {
	t.Helper()
	var request struct {
		Input map[string]any `json:"input"`
	}
	text := e2e.Must(os.ReadFile(path))(t)
	e2e.NoError(t, yaml.Unmarshal(text, &request))
	response, err := os.ReadFile(filepath.Join(filepath.Dir(path), "response.json"))
	for _, refused := range []string{"SEVERITY_FATAL", "cannot get Function input"} {
		if err != nil || strings.Contains(string(response), refused) {
			return nil
		}
	}
	input, _ := withoutNulls(request.Input).(map[string]any)
	return input
}

func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, below any) bool { return below == nil })
		for key, below := range v {
			v[key] = withoutNulls(below)
		}
	case []any:
		for i, below := range v {
			v[i] = withoutNulls(below)
		}
	}
	return value
}

func TestCRD(t *testing.T) {
	b, _ := builtin.Named("function-go-templating")
	const want = `{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "gotemplates.gotemplating.fn.crossplane.io"},
		"spec": {
			"group": "gotemplating.fn.crossplane.io", "scope": "Namespaced",
			"names": {"kind": "GoTemplate", "listKind": "GoTemplateList", "plural": "gotemplates", "singular": "gotemplate", "categories": ["crossplane"]},
			"versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
				"type": "object",
				"properties": {
					"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
					"source": {"type": "string", "enum": ["Inline", "FileSystem", "Environment"]},
					"inline": {"type": "object", "properties": {"template": {"type": "string"}, "templates": {"type": "array", "items": {"type": "string"}}}},
					"fileSystem": {"type": "object", "properties": {"dirPath": {"type": "string"}}},
					"environment": {"type": "object", "properties": {"key": {"type": "string"}}},
					"delims": {"type": "object", "properties": {"left": {"type": "string"}, "right": {"type": "string"}}},
					"options": {"type": "array", "items": {"type": "string"}}
				}
			}}}]
		}
	}`
	text := e2e.Must(json.Marshal(b.CRD()))(t)
	var got, wanted any
	e2e.NoError(t, json.Unmarshal(text, &got))
	e2e.NoError(t, json.Unmarshal([]byte(want), &wanted))
	e2e.Equal(t, "the CRD has the schema of all fields of the input", wanted, got)
}

// TestCRDRefuses checks inputs that the schemas refuse.
func TestCRDRefuses(t *testing.T) {
	cases := map[string]struct{ reason, builtin, input, want string }{
		"Unknown":  {"an unknown field is rejected", "patch-and-transform", "{resources: [{name: a, bas: {}}]}", `unknown field "resources[0].bas"`},
		"Required": {"a missing required field is rejected", "patch-and-transform", "{patchSets: [{patches: []}]}", "patchSets[0].name: Required value"},
		"Enum":     {"a value that is not in the list is rejected", "patch-and-transform", "{resources: [{name: a, patches: [{type: Odd}]}]}", `resources[0].patches[0].type: Unsupported value: "Odd"`},
		"Inline":   {"a field of an embedded type has the type of this field", "patch-and-transform", "{resources: [{name: a, patches: [{transforms: 1}]}]}", "resources[0].patches[0].transforms: Invalid value"},
		"Type":     {"a value of another type is rejected", "auto-ready", "{ttl: 5}", "ttl: Invalid value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := e2e.Must(builtin.Find(tc.builtin))(t)
			apiVersion, kind := b.ToAPIVersionAndKind()
			text := "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x}\n" + strings.TrimSuffix(strings.TrimPrefix(tc.input, "{"), "}") + "\n"
			results := validator(b).Document(t.Context(), manifest.Document{Path: "x.yaml", Line: 1, Text: []byte(text)})
			if len(results) != 1 || len(results[0].Faults) != 1 || !strings.Contains(results[0].Faults[0].Text, tc.want) {
				t.Errorf("%s: got %+v", tc.reason, results)
			}
		})
	}
}
