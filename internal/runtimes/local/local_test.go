package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
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
			out := &local.Output{}
			for _, text := range tc.writes {
				if n, err := out.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			}
			out.Flush()
			if diff := cmp.Diff(tc.want, out.Quote()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOutputName(t *testing.T) {
	out := &local.Output{Name: "words"}
	if got := out.Quote(); got != "; it wrote no words" {
		t.Errorf("got %q", got)
	}
	fmt.Fprintln(out, "a")
	if got := out.Quote(); got != "; its last words:\n  a" {
		t.Errorf("got %q", got)
	}
}

func TestOutputContains(t *testing.T) {
	var lines []string
	out := &local.Output{Each: func(line string) { lines = append(lines, line) }}
	fmt.Fprintf(out, "unknown flag --network\n%s", strings.Repeat("more\n", 99))
	if !out.Contains("-network") || out.Contains("--address") {
		t.Error("Contains() must find --network and not --address in the last hundred lines")
	}
	fmt.Fprintln(out, "one more")
	if out.Contains("-network") {
		t.Error("Contains() found a line that is older than the last hundred")
	}
	if len(lines) != 101 {
		t.Errorf("Each got %d lines, want 101", len(lines))
	}
}

func TestPrivateDir(t *testing.T) {
	parent := t.TempDir()
	dir, err := local.PrivateDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir.Path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v: other users can enter the directory", info, err)
	}
	deep := filepath.Join(parent, strings.Repeat("d", 100))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := local.PrivateDir(deep)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(elsewhere.Path, deep) {
		t.Errorf("%q is too long for a socket", elsewhere.Path)
	}
	if err := errors.Join(dir.Close(), elsewhere.Close()); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(deep)
	if err != nil || len(left) > 0 {
		t.Errorf("PrivateDir left %v behind, %v", left, err)
	}
	if _, err := local.PrivateDir(filepath.Join(parent, "absent")); err == nil {
		t.Error("PrivateDir in a missing parent: got no error")
	}
}

// TestFunctionEnds checks that waiting for a function that ended, and calling
// it, return how it ended.
func TestFunctionEnds(t *testing.T) {
	client, err := grpc.Dial("unix://"+filepath.Join(t.TempDir(), "nobody"), grpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	done := make(chan struct{})
	f := &local.Function{Client: client, Done: done, Ended: func() error { return errors.New("exit status 7") }}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(time.Millisecond, func() { cancel(enough) })
	if err := f.Await(ctx, time.Minute); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if err := f.Await(t.Context(), time.Nanosecond); err == nil || !strings.Contains(err.Error(), "no answer within 1ns") {
		t.Errorf("got %v", err)
	}
	close(done)
	if err := f.Await(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("got %v", err)
	}
	if _, err := f.RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{}); err == nil || err.Error() != `calling function "f": exit status 7` {
		t.Errorf("got %v", err)
	}
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
			out := &local.Output{}
			fmt.Fprintln(out, "words")
			if got := out.Explain(tc.ctx, errors.New("refused")); got == nil || got.Error() != tc.want {
				t.Errorf("%s: got %v, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
