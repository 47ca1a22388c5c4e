package gotemplating_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
)

// What is merged twice is merged, and does not come to hold itself.
func TestMergeShared(t *testing.T) {
	cases := map[string]struct{ reason, template, want string }{
		"SourceTwice":   {"a source may hold the destination, twice", `{{ $d := dict "a" (dict "b" 1) }}{{ $_ := merge $d.a $d $d }}{{ fail (toJson $d.a.a) }}`, `{"b":1}`},
		"Wrapped":       {"and be within another", `{{ $d := dict "x" 1 }}{{ $_ := merge $d (dict "a" $d) (dict "a" $d) }}{{ fail (toJson $d) }}`, `{"a":{"x":1},"x":1}`},
		"Overwrite":     {"also where it wins", `{{ $d := dict "a" (dict "b" 1) }}{{ $_ := mergeOverwrite $d.a $d $d }}{{ fail (toJson $d.a) }}`, `"b":1}`},
		"Must":          {"also where it may fail", `{{ $d := dict "x" 1 }}{{ $_ := mustMerge $d (dict "a" $d) }}{{ fail (toJson $d) }}`, `{"a":{"x":1},"x":1}`},
		"NumberedKeys":  {"also maps whose keys are no text", `{{ $m := fromYaml "1: {2: 3}" }}{{ $d := dict "a" $m }}{{ $_ := merge $d (dict "a" (dict "x" $m)) (dict "a" (dict "x" $m)) }}{{ fail (toString (index $d.a "x")) }}`, `map[1:map[2:3]]`},
		"Untouched":     {"a source that shares nothing stays the one that it is", `{{ $s := dict "m" (dict "k" 1) }}{{ $d := merge (dict) $s }}{{ $_ := set $s.m "k" 2 }}{{ fail (toJson $d) }}`, `{"m":{"k":2}}`},
		"Loop":          {"a map that grows by merging is not too much", `{{ $d := dict }}{{ range $i := until 400 }}{{ $d = merge $d (dict (printf "key-%d" $i) (dict "name" "a" "n" $i)) }}{{ end }}{{ fail (toString (len $d)) }}`, "400"},
		"LeadingBreaks": {"YAML is written as the real function does", `{{ fail (toYaml (dict "a" "\nx")) }}`, "a: |4-\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fatal(t, gotemplating.Options{}, "input: {source: Inline, inline: {template: "+quoted(tc.template)+"}}"); !strings.Contains(got, "error calling fail: ") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %.300q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Documents are judged one after the other, and by the names that fields have.
func TestDocumentOrder(t *testing.T) {
	cases := map[string]struct{ reason, template, want string }{
		"AnnotationsFirst": {"what is wrong with a document is said before the next is read", "kind: A\nmetadata: {annotations: {a: 1}}\n---\nkind: [", "invalid annotations in resource '/, Kind=A resource-name=<nil>'"},
		"SyntaxFirst":      {"in their order", "kind: [\n---\nkind: A\nmetadata: {annotations: {a: 1}}", "cannot decode manifest: "},
		"Capitals":         {"a field in other capitals is another", metaAPI + "kind: ClaimConditions\nconditions: [{type: Ready, Type: Mine}]", "Ready is a reserved Crossplane Condition"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fatal(t, gotemplating.Options{}, "input: {source: Inline, inline: {template: "+quoted(tc.template)+"}}"); !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A folder that its name hides is an empty template, wherever it is: nothing in it
// is read.
func TestHiddenParents(t *testing.T) {
	for _, path := range []string{"..", "../..", "sub/../..", ".", "./."} {
		got := answer(t, gotemplating.Options{Dir: t.TempDir()}, fmt.Sprintf("input: {source: FileSystem, fileSystem: {dirPath: %q}}", path))
		if results, failed := got.(map[string]any)["results"]; failed {
			t.Errorf("%s: got %v", path, results)
		}
	}
}

// A call that takes long does not keep a render that is to end.
func TestLongCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	req := inlineRequest(t, `{{ regexFindAll "x*y|x" (repeat 100000 "x") -1 }}`)
	if _, err := gotemplating.New(gotemplating.Options{}).RunFunction(ctx, "", req); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func fatal(t *testing.T, o gotemplating.Options, request string) string {
	t.Helper()
	results, _ := answer(t, o, request).(map[string]any)["results"].([]any)
	if len(results) != 1 {
		t.Fatalf("got the results %v", results)
	}
	return results[0].(map[string]any)["message"].(string)
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }
