package manifest_test

import (
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

var step = map[string]any{"step": "new", "ref": map[string]any{"name": "f"}}

func TestInsertItem(t *testing.T) {
	cases := map[string]struct {
		reason   string
		at       int
		in, want string
	}{
		"First": {
			"comments, order and quotes of other lines are kept", 0,
			"# head\nkind: X # why\nspec:\n  steps: # all\n  # the first\n  - step: \"a\"\n    ref: {name: f}\n\n  # the second\n  - step: b\n# end\nmore: 1\n",
			"# head\nkind: X # why\nspec:\n  steps: # all\n  - ref:\n      name: f\n    step: new\n  # the first\n  - step: \"a\"\n    ref: {name: f}\n\n  # the second\n  - step: b\n# end\nmore: 1\n",
		},
		"Append": {
			"the item is below a block scalar that looks like the end of the list", -1,
			"spec:\n  steps:\n    - step: a\n      text: |\n        # no comment\n\n        - no: item\n    # after a\n\nmore: 1\n",
			"spec:\n  steps:\n    - step: a\n      text: |\n        # no comment\n\n        - no: item\n    # after a\n    - ref:\n        name: f\n      step: new\n\nmore: 1\n",
		},
		"Middle": {
			"an item between two others is above the comment of the second", 1,
			"spec:\n  steps:\n  - a\n  # about b\n  - b\n",
			"spec:\n  steps:\n  - a\n  - ref:\n      name: f\n    step: new\n  # about b\n  - b\n",
		},
		"NoList": {
			"a missing list is added below the last field", -1,
			"spec:\n  a: 1\n  b:\n    c: 1 # c\n\n# more\nmore: 1\n",
			"spec:\n  a: 1\n  b:\n    c: 1 # c\n  steps:\n  - ref:\n      name: f\n    step: new\n\n# more\nmore: 1\n",
		},
		"NoObject":  {"a missing object is created", -1, "a: 1", "a: 1\nspec:\n  steps:\n  - ref:\n      name: f\n    step: new\n"},
		"FlowList":  {"a list in flow style is formatted", 0, "spec:\n  # steps\n  steps: [a] # all\n", "spec:\n  # steps\n  steps: # all\n  - ref:\n      name: f\n    step: new\n  - a\n"},
		"EmptyList": {"an empty list is formatted", 0, "# head\nspec: {steps: []}\n", "# head\nspec: {steps: [{ref: {name: f}, step: new}]}\n"},
		"Null":      {"a null is replaced", 0, "spec:\n  steps:\n", "spec:\n  steps:\n  - ref:\n      name: f\n    step: new\n"},
		"CRLF":      {"line endings are kept", 0, "spec:\r\n  steps:\r\n  - a\r\n", "spec:\r\n  steps:\r\n  - ref:\r\n      name: f\r\n    step: new\r\n  - a\r\n"},
		"Documents": {"other documents are kept", 0, "a: 1 # one\n---\nspec:\n  steps:\n  - a\n---\nb: 2\n", "a: 1 # one\n---\nspec:\n  steps:\n  - ref:\n      name: f\n    step: new\n  - a\n---\nb: 2\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			docs := e2e.Must(manifest.Split("f.yaml", []byte(tc.in)))(t)
			doc := docs[len(docs)/2]
			change := e2e.Must(doc.InsertItem("spec.steps", tc.at, step))(t)
			e2e.Equal(t, tc.reason, tc.want, string(change.Apply([]byte(tc.in))))
		})
	}
}

func TestReplaceItem(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, want string }{
		"Block": {
			"comments above and below the item are kept",
			"spec:\n  steps:\n  # a\n  - a: 1\n  # b\n  - b: 2\n    c: |\n      x\n\n  # d\n  - d\n",
			"spec:\n  steps:\n  # a\n  - a: 1\n  # b\n  - ref:\n      name: f\n    step: new\n\n  # d\n  - d\n",
		},
		"Flow": {"a list in flow style is formatted", "spec:\n  steps: [a, b] # all\n", "spec:\n  steps: # all\n  - a\n  - ref:\n      name: f\n    step: new\n"},
	} {
		docs := e2e.Must(manifest.Split("f.yaml", []byte(tc.in)))(t)
		change, err := docs[0].ReplaceItem("spec.steps", 1, step)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, tc.reason, err)
		}
		e2e.Equal(t, fmt.Sprintf("%s: %s", name, tc.reason), tc.want, string(change.Apply([]byte(tc.in))))
	}
}

func TestEditRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"spec: 1\n":                 "f.yaml:1: expected an object that has steps",
		"a: 1\nspec:\n  steps: x\n": "f.yaml:3: spec.steps is not a list",
	} {
		docs := e2e.Must(manifest.Split("f.yaml", []byte(text)))(t)
		e2e.ErrorHas(t, fmt.Sprintf("a step cannot be inserted in %q", text), e2e.Err(docs[0].InsertItem("spec.steps", 0, step)), want)
	}
}
