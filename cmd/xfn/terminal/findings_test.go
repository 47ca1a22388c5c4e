package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestAnnotationCommand(t *testing.T) {
	root := t.TempDir()
	cases := map[string]struct {
		reason, workspace string
		a                 Annotation
		want              string
	}{
		"Whole":     {"all fields are printed", "", Annotation{Path: "a/b.yaml", Line: 3, Title: "rule", Text: "no good"}, "::error file=a/b.yaml,line=3,title=rule::no good"},
		"Warning":   {"a warning has its own command", "", Annotation{Warning: true, Text: "x"}, "::warning::x"},
		"NoLine":    {"a file has no line 0", "", Annotation{Path: "a", Text: "x"}, "::error file=a::x"},
		"NoPath":    {"a line needs a file", "", Annotation{Line: 3, Text: "x"}, "::error::x"},
		"Text":      {"a text cannot begin another command", "", Annotation{Text: "100%\r\n::warning::a:b,c"}, "::error::100%25%0D%0A::warning::a:b,c"},
		"Property":  {"a value cannot end its property", "", Annotation{Path: "a,line=1::b%\n", Text: "x"}, "::error file=a%2Cline=1%3A%3Ab%25%0A::x"},
		"Workspace": {"paths below the workspace are relative to it", root, Annotation{Path: filepath.Join(root, "a", "b.yaml"), Text: "x"}, "::error file=a/b.yaml::x"},
		"Elsewhere": {"other paths are unchanged", root, Annotation{Path: "b.yaml", Text: "x"}, "::error file=b.yaml::x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, command(tc.a, tc.workspace))
		})
	}
}

// External texts in errors must not become commands.
func TestErrorIsNoCommand(t *testing.T) {
	for actions, want := range map[bool]string{
		true:  "xfn: error: a::b\n            : :add-mask::x\n",
		false: "xfn: error: a::b\n            ::add-mask::x\n",
	} {
		path := filepath.Join(t.TempDir(), "stderr")
		f := e2e.Must(os.Create(path))(t)
		term := &Terminal{stderr: f, actions: actions}
		term.Error("xfn", errors.New("a::b\n::add-mask::x"))
		e2e.NoError(t, f.Close())
		e2e.Equal(t, fmt.Sprintf("a text must not become a command (in Actions: %v)", actions), want, e2e.ReadFile(t, path))
	}
}

func TestAnnotate(t *testing.T) {
	for actions, want := range map[bool]string{true: "::error::x\n", false: ""} {
		var out bytes.Buffer
		term := &Terminal{Stdout: &out, actions: actions}
		if err := term.Annotate(Annotation{Text: "x"}); err != nil || out.String() != want {
			t.Errorf("in Actions %v: got %q, %v, want %q", actions, out.String(), err, want)
		}
	}
}
