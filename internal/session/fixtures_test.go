package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

func manifestOf(path string) ([]manifest.Document, error) {
	return manifest.Reader{FS: afero.NewOsFs()}.All(context.Background(), path)
}

func TestParseFixtures(t *testing.T) {
	text := "# a comment\n---\n" + `apiVersion: xfn.dev/v1alpha1
kind: ObserveFixtures
fixtures:
- match: {resource: bucket}
  ready: false
- match:
    apiVersion: v1
    kind: Pod
    name: p
  from: 2
  status: {i: 1, f: 1.5, on: yes}
  metadata: {labels: {a: b}}
---
apiVersion: xfn.dev/v1alpha1
kind: ObserveFixtures
fixtures: []
---
apiVersion: xfn.dev/v1alpha1
kind: ObserveFixtures
fixtures:
- {match: {apiVersion: v1, kind: Pod}, ready: true}
`
	docs := e2e.Must(manifest.Split("f.yaml", []byte(text)))(t)
	got := e2e.Must(session.ParseFixtures(docs))(t)
	yes, no := true, false
	want := []session.Fixture{
		{Position: "f.yaml:6", From: 1, Match: session.FixtureMatch{Resource: "bucket"}, Ready: &no},
		{
			Position: "f.yaml:8", From: 2, Match: session.FixtureMatch{APIVersion: "v1", Kind: "Pod", Name: "p"},
			// The key is the string "true", which YAML 1.1 reads as a boolean.
			Status:   map[string]any{"i": int64(1), "f": 1.5, "true": true},
			Metadata: map[string]any{"labels": map[string]any{"a": "b"}},
		},
		{Position: "f.yaml:23", From: 1, Match: session.FixtureMatch{APIVersion: "v1", Kind: "Pod"}, Ready: &yes},
	}
	e2e.Equal(t, "fixtures of all documents have their positions and defaults", want, got)
}

func TestParseFixturesRefuses(t *testing.T) {
	const head = "apiVersion: xfn.dev/v1alpha1\nkind: ObserveFixtures\n"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"NoYAML":       {"invalid YAML is an error", "a: [", []string{"f.yaml:1: "}},
		"List":         {"a document must be an object", "[]", []string{"f.yaml:1: expected an object"}},
		"Kind":         {"another kind is an error", "apiVersion: xfn.dev/v1alpha1\nkind: Fixtures\nfixtures: []\n", []string{`f.yaml:2: expected kind ObserveFixtures of xfn.dev/v1alpha1, got "Fixtures" of "xfn.dev/v1alpha1"`}},
		"APIVersion":   {"another apiVersion is an error", "apiVersion: v1\nkind: ObserveFixtures\n", []string{`got "ObserveFixtures" of "v1"`}},
		"Null":         {"a null document is an error", "null", []string{"f.yaml:1: expected an object"}},
		"UnknownField": {"an unknown top-level field is an error", head + "fixture: []\n", []string{"f.yaml:3: fixture: there is no such field: is it fixtures?"}},
		"Duplicate":    {"a duplicate field is an error", head + "kind: ObserveFixtures\n", []string{"f.yaml:3: ", `"kind"`}},
		"NoList":       {"fixtures must be a list", head + "fixtures: {}\n", []string{"f.yaml:3: fixtures: expected a list"}},
		"Unknown": {
			"unknown fields at any depth are errors, each with its line",
			head + "fixtures:\n- match:\n    resource: a\n    names: b\n  ready: true\n- match: {resource: a}\n  Ready: true\n",
			[]string{"f.yaml:6: fixtures[0].match.names: there is no such field: is it name?", "f.yaml:9: fixtures[1].Ready: there is no such field: is it ready?"},
		},
		"NoObject":    {"a fixture must be an object", head + "fixtures:\n- a\n", []string{"f.yaml:4: fixtures[0]: expected an object"}},
		"Boolean":     {"ready must be a boolean", head + "fixtures:\n- match: {resource: a}\n  ready: 'True'\n", []string{"f.yaml:5: fixtures[0].ready: expected true or false"}},
		"Number":      {"from must be a number", head + "fixtures:\n- match: {resource: a}\n  from: 1.5\n  ready: true\n", []string{"f.yaml:5: fixtures[0].from: expected a whole number"}},
		"String":      {"a name must be a string", head + "fixtures:\n- match:\n    resource: 5\n  ready: true\n", []string{"f.yaml:5: fixtures[0].match.resource: expected a string"}},
		"Status":      {"a status must be an object", head + "fixtures:\n- match: {resource: a}\n  status: []\n", []string{"f.yaml:5: fixtures[0].status: expected an object"}},
		"Annotations": {"annotations must be strings", head + "fixtures:\n- match: {resource: a}\n  metadata:\n    annotations: {a: 1}\n", []string{"f.yaml:6: fixtures[0].metadata.annotations: expected an object of strings"}},
		"Zero":        {"from must be at least 1", head + "fixtures:\n- match: {resource: a}\n  from: 0\n  ready: true\n", []string{"f.yaml:5: fixtures[0].from: expected 1 or more"}},
		"Empty":       {"a fixture must change something", head + "fixtures:\n- match: {resource: a}\n", []string{"f.yaml:4: fixtures[0]: expected ready, status or metadata"}},
		"NoMatch":     {"a fixture must have a match", head + "fixtures:\n- ready: true\n", []string{"f.yaml:4: fixtures[0].match: expected either"}},
		"NullFixture": {"a fixture must not be null", head + "fixtures:\n- null\n", []string{"f.yaml:4: fixtures[0]: expected an object"}},
		"Both":        {"a match must not mix both forms", head + "fixtures:\n- match: {resource: a, kind: b}\n  ready: true\n", []string{"f.yaml:4: fixtures[0].match: expected either"}},
		"Half":        {"a match by kind needs an apiVersion", head + "fixtures:\n- match: {kind: b}\n  ready: true\n", []string{"f.yaml:4: fixtures[0].match: expected either"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := session.ParseFixtures([]manifest.Document{{Path: "f.yaml", Line: 1, Text: []byte(tc.text)}})
			if !errors.As(err, new(*manifest.Error)) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			for _, want := range tc.want {
				e2e.Has(t, tc.reason, err.Error(), want)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n > len(tc.want) {
				t.Errorf("%s: got %d errors: %v", tc.reason, n, err)
			}
		})
	}
}

func TestFixtureString(t *testing.T) {
	cases := map[string]session.Fixture{
		`f.yaml:3: resource "a"`: {Position: "f.yaml:3", Match: session.FixtureMatch{Resource: "a"}},
		`resource "a"`:           {Match: session.FixtureMatch{Resource: "a"}},
		`v1 Pod`:                 {Match: session.FixtureMatch{APIVersion: "v1", Kind: "Pod"}},
		`v1 Pod p`:               {Match: session.FixtureMatch{APIVersion: "v1", Kind: "Pod", Name: "p"}},
	}
	for want, f := range cases {
		e2e.Equal(t, "a fixture is described by what it matches", want, f.String())
	}
}

// FuzzParseFixtures: ParseFixtures returns errors with a position, or valid fixtures.
func FuzzParseFixtures(f *testing.F) {
	example := e2e.ReadFile(f, "testdata/fixtures.yaml")
	f.Add(example)
	f.Add("apiVersion: xfn.dev/v1alpha1\nkind: ObserveFixtures\nfixtures:\n- {match: {resource: a}, status: {conditions: [5, {type: Ready}]}, metadata: {annotations: 5}, ready: true}\n- null\n")
	f.Add("fixtures: [{match: {match: {}}, from: -1e99}]\nx.y[0]: &a [*a]\n")
	f.Add("apiVersion: xfn.dev/v1alpha1\nkind: ObserveFixtures\nfixtures:\n- &a {match: {resource: a}, status: {conditions: {}}, ready: true}\n- <<: *a\n  from: 9\n")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := manifest.Split("f.yaml", []byte(text))
		if err != nil {
			return
		}
		fs, err := session.ParseFixtures(docs)
		var at *manifest.Error
		if err != nil && (!errors.As(err, &at) || at.Path != "f.yaml") {
			t.Fatalf("got %v", err)
		}
		pipeline := func(*fnv1.State, int) string { return `{"desired": {"resources": {` + boltJSON("a", "{}") + `}}}` }
		for _, profile := range []render.Profile{render.V2, render.Classic} {
			_, _ = session.RenderPasses(t.Context(), passRunner(t, pipeline), passRequest(t, profile), 3, fs)
		}
	})
}
