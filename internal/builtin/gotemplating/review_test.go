package gotemplating_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
)

// TestMergeShared checks that merging maps twice never makes a map contain itself.
func TestMergeShared(t *testing.T) {
	cases := map[string]struct{ reason, template, want string }{
		"SourceTwice":   {"a source may contain the destination twice", `{{ $d := dict "a" (dict "b" 1) }}{{ $_ := merge $d.a $d $d }}{{ fail (toJson $d.a.a) }}`, `{"b":1}`},
		"Wrapped":       {"a source may be part of another source", `{{ $d := dict "x" 1 }}{{ $_ := merge $d (dict "a" $d) (dict "a" $d) }}{{ fail (toJson $d) }}`, `{"a":{"x":1},"x":1}`},
		"Overwrite":     {"a source of a function that overwrites may contain the destination", `{{ $d := dict "a" (dict "b" 1) }}{{ $_ := mergeOverwrite $d.a $d $d }}{{ fail (toJson $d.a) }}`, `"b":1}`},
		"Must":          {"a source of a function that returns an error may contain the destination", `{{ $d := dict "x" 1 }}{{ $_ := mustMerge $d (dict "a" $d) }}{{ fail (toJson $d) }}`, `{"a":{"x":1},"x":1}`},
		"NumberedKeys":  {"maps whose keys are not strings may be shared", `{{ $m := fromYaml "1: {2: 3}" }}{{ $d := dict "a" $m }}{{ $_ := merge $d (dict "a" (dict "x" $m)) (dict "a" (dict "x" $m)) }}{{ fail (toString (index $d.a "x")) }}`, `map[1:map[2:3]]`},
		"Untouched":     {"a source without shared maps is not copied", `{{ $s := dict "m" (dict "k" 1) }}{{ $d := merge (dict) $s }}{{ $_ := set $s.m "k" 2 }}{{ fail (toJson $d) }}`, `{"m":{"k":2}}`},
		"Loop":          {"a map may grow by merging", `{{ $d := dict }}{{ range $i := until 400 }}{{ $d = merge $d (dict (printf "key-%d" $i) (dict "name" "a" "n" $i)) }}{{ end }}{{ fail (toString (len $d)) }}`, "400"},
		"LeadingBreaks": {"YAML is written as by the real function", `{{ fail (toYaml (dict "a" "\nx")) }}`, "a: |4-\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fatal(t, gotemplating.Options{}, "input: {source: Inline, inline: {template: "+quoted(tc.template)+"}}"); !strings.Contains(got, "error calling fail: ") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %.300q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestDocumentOrder checks that documents are validated in order, and that their
// field names are case-sensitive.
func TestDocumentOrder(t *testing.T) {
	cases := map[string]struct{ reason, template, want string }{
		"AnnotationsFirst": {"an invalid document is reported before the next one is read", "kind: A\nmetadata: {annotations: {a: 1}}\n---\nkind: [", "invalid annotations in resource '/, Kind=A resource-name=<nil>'"},
		"SyntaxFirst":      {"a syntax error is reported before later documents are validated", "kind: [\n---\nkind: A\nmetadata: {annotations: {a: 1}}", "cannot decode manifest: "},
		"Capitals":         {"a field name with other capitals is ignored", metaAPI + "kind: ClaimConditions\nconditions: [{type: Ready, Type: Mine}]", "Ready is a reserved Crossplane Condition"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Has(t, tc.reason, fatal(t, gotemplating.Options{}, "input: {source: Inline, inline: {template: "+quoted(tc.template)+"}}"), tc.want)
		})
	}
}

// TestHiddenParents checks that a path that ends in "." or ".." is an empty
// template, and that no folder is read.
func TestHiddenParents(t *testing.T) {
	for _, path := range []string{"..", "../..", "sub/../..", ".", "./."} {
		got := answer(t, gotemplating.Options{Dir: t.TempDir()}, fmt.Sprintf("input: {source: FileSystem, fileSystem: {dirPath: %q}}", path))
		if results, failed := got.(map[string]any)["results"]; failed {
			t.Errorf("%s: got %v", path, results)
		}
	}
}

// TestLongCall checks that RunFunction returns at once when its context is done,
// even during a long function call.
func TestLongCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	req := inlineRequest(t, `{{ regexFindAll "x*y|x" (repeat 100000 "x") -1 }}`)
	e2e.ErrorIs(t, "RunFunction returns the cause of its context", e2e.Err(gotemplating.New(gotemplating.Options{}).RunFunction(ctx, "", req)), cause)
}

func fatal(t *testing.T, o gotemplating.Options, request string) string {
	t.Helper()
	return fatalOf(t, gotemplating.New(o), request)
}

// fatalOf is like fatal, for a given function.
func fatalOf(t *testing.T, r function.Runner, request string) string {
	t.Helper()
	results, _ := answerOf(t, r, request).(map[string]any)["results"].([]any)
	if len(results) != 1 {
		t.Fatalf("got the results %v, want one", results)
	}
	return results[0].(map[string]any)["message"].(string)
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

// TestMistakes checks the warnings about documents without the effect that was probably meant. Each
// is sent once.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const pier = "apiVersion: h/v1\nkind: Pier\n"
	cases := map[string]struct{ reason, template, want string }{
		"Twice":     {"of two resources with a name, only the last is desired", crane("a") + "---\n" + crane("b") + "---\n" + crane("a"), `the templates of a Crane and a Crane have the resource name "a", and the last replaces the others`},
		"Spec":      {"only the status of the composite resource is applied", pier + "metadata: {name: p}\nspec: {a: 1}\nstatus: {b: 1}\n", "a document of the composite resource has spec, but function-go-templating applies only its status"},
		"Plain":     {"connection details are in base64", metaAPI + "kind: CompositeConnectionDetails\ndata: {a: YQ==, b: plain}\n", "CompositeConnectionDetails: data.b is not in base64, so only the part before the error is kept"},
		"Number":    {"a connection detail that is not text makes the function ignore all", metaAPI + "kind: CompositeConnectionDetails\ndata: {a: YQ==, b: 5432}\n", "CompositeConnectionDetails: data.b is not a string, so all connection details of the document are ignored"},
		"Base64":    {"connection details in base64 are right", metaAPI + "kind: CompositeConnectionDetails\ndata: {a: YQ==, b: ''}\n", ""},
		"Status":    {"the function knows three statuses", metaAPI + "kind: ClaimConditions\nconditions: [{type: A, status: 'True', reason: B}, {type: C, status: 'Yes', reason: D}]\n", `ClaimConditions: conditions[1].status is "Yes", which becomes Unknown`},
		"Absent":    {"a status that is missing becomes Unknown", metaAPI + "kind: ClaimConditions\nconditions: [{type: A, reason: B}]\n", `ClaimConditions: conditions[0].status is "", which becomes Unknown`},
		"Boolean":   {"a status that is not a text has a fatal result", metaAPI + "kind: ClaimConditions\nconditions: [{type: A, status: true, reason: B}]\n", ""},
		"Matchname": {"an unknown field of a requirement is ignored", metaAPI + "kind: ExtraResources\nrequirements: {a: {apiVersion: v1, kind: ConfigMap, matchNme: b}}\n", "ExtraResources: requirements.a has no field matchNme, did you mean matchName?"},
		"Fine":      {"documents that have an effect are not mistakes", crane("a") + "---\n" + pier + "status: {b: 1}\n---\n" + metaAPI + "kind: Context\ndata: {a: b}\n", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			r := gotemplating.New(gotemplating.Options{Progress: func(e progress.Event) {
				warnings = append(warnings, strings.TrimPrefix(e.Text, `pipeline step "": `))
			}})
			for range 2 {
				answerOf(t, r, observed+"input: {source: Inline, inline: {template: "+quoted(tc.template)+"}}")
			}
			e2e.Equal(t, tc.reason, tc.want, strings.Join(warnings, "|"))
		})
	}
}
