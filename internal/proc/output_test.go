package proc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc"
)

func TestOutput(t *testing.T) {
	var many strings.Builder
	for n := range 150 {
		fmt.Fprintf(&many, "line %d\n", n)
	}
	var last []string
	for n := 130; n < 150; n++ {
		last = append(last, fmt.Sprintf("line %d", n))
	}
	cases := map[string]struct {
		reason string
		writes []string
		want   string
	}{
		"Nothing":  {"no output is reported as such", nil, "; it wrote no output"},
		"Pieces":   {"pieces are joined to lines", []string{"a", "b\nc", "\nd"}, "; its last output:\n  ab\n  c\n  d"},
		"Controls": {"control characters are removed", []string{"\x1b[31mred\x07\t.\r\n"}, "; its last output:\n  [31mred\t."},
		"Long":     {"a long line is split", []string{strings.Repeat("x", 5000)}, "; its last output:\n  " + strings.Repeat("x", 2048) + "\n  " + strings.Repeat("x", 2048) + "\n  " + strings.Repeat("x", 904)},
		"Many":     {"only the last lines are quoted", []string{many.String()}, "; its last output:\n  " + strings.Join(last, "\n  ")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := &proc.Output{}
			for _, text := range tc.writes {
				e2e.Equal(t, tc.reason+": each write is complete", len(text), e2e.Must(out.Write([]byte(text)))(t))
			}
			out.Flush()
			e2e.Equal(t, tc.reason, tc.want, out.Quote())
		})
	}
}

func TestOutputName(t *testing.T) {
	out := &proc.Output{Name: "words"}
	e2e.Equal(t, "without output, the quote has the name", "; it wrote no words", out.Quote())
	fmt.Fprintln(out, "a")
	e2e.Equal(t, "the quote begins with the name", "; its last words:\n  a", out.Quote())
}

func TestOutputContains(t *testing.T) {
	var lines []string
	out := &proc.Output{Each: func(line string) { lines = append(lines, line) }}
	fmt.Fprintf(out, "unknown flag --network\n%s", strings.Repeat("more\n", 99))
	if !out.Contains("-network") || out.Contains("--address") {
		t.Error("Contains() must find --network and not --address in the last hundred lines")
	}
	fmt.Fprintln(out, "one more")
	if out.Contains("-network") {
		t.Error("Contains() found a line that is older than the last hundred")
	}
	e2e.Equal(t, "the lines of Each", 101, len(lines))
}

func TestOutputExplain(t *testing.T) {
	slow := errors.New("no answer within 1s")
	late, cancelLate := context.WithCancelCause(t.Context())
	cancelLate(slow)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason string
		ctx    context.Context
		want   string
	}{
		"Error":       {"an error is returned with the last output", t.Context(), "refused; its last output:\n  words"},
		"Late":        {"after a timeout the error is the timeout", late, "no answer within 1s; its last output:\n  words"},
		"Interrupted": {"a cancellation is returned without output", interrupted, "context canceled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := &proc.Output{}
			fmt.Fprintln(out, "words")
			e2e.Equal(t, tc.reason, tc.want, fmt.Sprint(out.Explain(tc.ctx, errors.New("refused"))))
		})
	}
}

func TestOutputLast(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Nothing": {"without output there are no lines", "", ""},
		"Short":   {"all of a few lines are returned", "a\n\tb\n", "a\n\tb"},
		"Lines":   {"only the last lines are returned", strings.Repeat("a\n", 50), "…\n" + strings.Repeat("a\n", 39) + "a"},
		"Dropped": {"lines that are not kept are marked", strings.Repeat("a\n", 1000), "…\n" + strings.Repeat("a\n", 39) + "a"},
		"Open":    {"a last line without a newline is returned", "a\nb", "a\nb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out proc.Output
			e2e.NoError(t, e2e.Err(io.WriteString(&out, tc.text)))
			out.Flush()
			e2e.Equal(t, tc.reason, tc.want, out.Last(40))
		})
	}
}
