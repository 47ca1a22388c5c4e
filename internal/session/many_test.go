package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session"
)

// many returns a file of n XRs called x0, x1, ….
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: gold.test/v1\nkind: XWidget\nmetadata: {name: x%d}\n", i)
	}
	return b.String()
}

// names renders many XRs and returns their names. For an XR that fails, it
// returns "!" and the error.
func names(t *testing.T, s *session.Session, in session.Inputs) ([]string, error) {
	t.Helper()
	var got []string
	err := s.Render(t.Context(), in, func(r session.Result) error {
		if r.Err != nil {
			got = append(got, "!"+r.Err.Error())
			return nil
		}
		got = append(got, r.XR["metadata"].(map[string]any)["name"].(string))
		return nil
	})
	return got, err
}

func TestManyXRs(t *testing.T) {
	files := map[string]string{
		"composition.yaml": steps("function-dummy"),
		"many.yaml":        many(3),
		"dir/b.yaml":       strings.Replace(many(1), "x0", "b", 1),
		"dir/a.yaml":       strings.Replace(many(2), "x0", "a", 1),
		"other.yaml":       "apiVersion: gold.test/v1\nkind: XGadget\nmetadata: {name: odd}\n",
		"empty/x.txt":      "",
	}
	const odd = `!composition.yaml:6: the Composition "widgets" is for kind XWidget, but the composite resource "odd" is of kind XGadget`
	cases := map[string]struct {
		reason  string
		in      session.Inputs
		want    []string
		wantErr string
	}{
		"First":  {"the first document of a file is used", session.Inputs{XRs: []string{"many.yaml"}}, []string{"x0"}, ""},
		"All":    {"all documents are used on request", session.Inputs{XRs: []string{"many.yaml"}, AllDocuments: true}, []string{"x0", "x1", "x2"}, ""},
		"Folder": {"files of a folder are used in lexical order", session.Inputs{XRs: []string{"dir"}}, []string{"a", "b"}, ""},
		"Both":   {"several paths are used in order", session.Inputs{XRs: []string{"dir", "many.yaml"}}, []string{"a", "b", "x0"}, ""},
		"One":    {"an XR that fails does not affect the others", session.Inputs{XRs: []string{"dir", "other.yaml", "many.yaml"}}, []string{"a", "b", odd, "x0"}, ""},
		"Empty":  {"a folder without XRs is an error", session.Inputs{XRs: []string{"empty"}}, nil, "loading the composite resource: empty: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{}, files)
			tc.in.Composition = "composition.yaml"
			got, err := names(t, s, tc.in)
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.WantError(t, tc.reason, err, tc.wantErr)
		})
	}
}

// TestOrderAndBound: results are returned in the order of the XRs, although the
// renders end in random order. At most one render per processor runs at a time.
func TestOrderAndBound(t *testing.T) {
	var running, most atomic.Int64
	busy := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		runtime.Gosched()
		running.Add(-1)
		return &fnv1.RunFunctionResponse{}, nil
	})
	s := open(t, session.Config{Runners: function.Mux{"f": busy}}, map[string]string{"composition.yaml": steps("f"), "many.yaml": many(200)})
	got := e2e.Must(names(t, s, session.Inputs{XRs: []string{"many.yaml"}, AllDocuments: true, Composition: "composition.yaml"}))(t)
	for i, name := range got {
		e2e.Equal(t, fmt.Sprintf("result %d has the order of its XR", i), fmt.Sprintf("x%d", i), name)
	}
	e2e.Equal(t, "each XR has a result", 200, len(got))
	if limit := int64(runtime.GOMAXPROCS(0)); most.Load() > limit {
		t.Errorf("%d renders ran concurrently, with %d processors", most.Load(), limit)
	}
}

func TestEachEndsTheRender(t *testing.T) {
	s := open(t, session.Config{}, map[string]string{"composition.yaml": steps("function-dummy"), "many.yaml": many(500)})
	full := errors.New("the disk is full")
	n := 0
	err := s.Render(t.Context(), session.Inputs{XRs: []string{"many.yaml"}, AllDocuments: true, Composition: "composition.yaml"}, func(session.Result) error {
		n++
		return full
	})
	e2e.ErrorIs(t, "the error of the callback ends the render", err, full)
	e2e.Equal(t, "no result follows the error of the callback", 1, n)
}

func TestCancelEndsTheRender(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := open(t, session.Config{}, map[string]string{"composition.yaml": steps("function-dummy"), "many.yaml": many(500)})
	err := s.Render(ctx, session.Inputs{XRs: []string{"many.yaml"}, AllDocuments: true, Composition: "composition.yaml"}, func(session.Result) error {
		cancel()
		return nil
	})
	e2e.ErrorIs(t, "a canceled render returns the cause of its context", err, context.Canceled)
}
