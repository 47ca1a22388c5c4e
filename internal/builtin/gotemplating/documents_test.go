package gotemplating_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

var texts = []string{
	"", " ", "\n\n", "---", "---\n", "kind: A", "kind: A\n---\nkind: B\n", "--- # c\nkind: A\n...\n", "---x", "\r\nkind: A\r\n---\r\n",
	"null", "~\n---\n# c\n---\nkind: A", "- a", "a", "kind: [", "a: &a 1\nkind: A\nb: *a", "a: *b", "kind: A\nkind: B\n",
	`{"kind":"A"}`, `{"kind":"A"}{"kind":"B"}`, `{"kind":"A"}` + "\n---\nkind: B\n", `{"kind":"A"}` + "\n" + `{"kind":"B"}` + "\n---\nkind: C\n",
	`{"kind":"A"} {`, `{"kind":"A"}   kind: B`, `{"kind":"A"}` + "\n  kind: B\n  x: 1", `{"kind":"A"}{"kind":"B"}{"kind":"C"} x`, `{"a":1}`, `{"kind":"A"}{"a":1}`, `{kind: A}`, "{kind: A}\n---\nkind: B", `{"kind":"A"`,
	`{"kind":1}`, "{}", "{\"kind\":\"A\"}\xff", strings.Repeat(" ", 1100) + `{"kind":"A"}`, `{"kind":"A"}null`, `{"kind":"A"}` + "\n\n\n", `{"kind":"A"}` + "\n---\n---\nkind: [",
	"kind: A\n---\nkind: B: C\n---\nkind: D", "kind: A\x00", "\xef\xbb\xbfkind: A",
}

// same checks that the reader returns the same objects and the same error as the
// YAMLOrJSONDecoder of k8s.io/apimachinery.
func same(t *testing.T, text string) {
	t.Helper()
	got, gotErr := gotemplating.Objects(text)
	var want []*unstructured.Unstructured
	var wantErr error
	for d := kyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 1024); ; {
		var u *unstructured.Unstructured
		if err := d.Decode(&u); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			wantErr = err
			break
		}
		want = append(want, u)
	}
	e2e.Equal(t, fmt.Sprintf("the documents of %q are those of the decoder", text), want, got)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Errorf("%q: got error %v, want %v", text, gotErr, wantErr)
	}
}

func TestObjects(t *testing.T) {
	for _, text := range texts {
		same(t, text)
	}
}

func FuzzObjects(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 || strings.Count(text, "*") > 8 {
			return // YAMLOrJSONDecoder would use all memory for a few nested aliases
		}
		same(t, text)
	})
}
