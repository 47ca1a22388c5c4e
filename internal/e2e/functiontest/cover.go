package functiontest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// Cover calls a builtin and returns the points of the request's input, and whether the call ran
// them. A point is "PATH" or "FILE:LINE", and " (BRANCH)" if it has a branch. It includes
// patches whose source was missing.
func Cover(t *testing.T, r function.Runner, req *fnv1.RunFunctionRequest) map[string]bool {
	t.Helper()
	c := &cover{}
	if _, err := r.RunFunction(sdk.WithCoverage(t.Context(), c), "f", req); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, p := range c.known {
		got[pointName(p)] = false
	}
	for _, p := range c.hits {
		if p.Branch != sdk.SourceMissing && !slices.Contains(c.known, p) {
			t.Errorf("the call ran %v, which is not a point of the input", p)
		}
		got[pointName(p)] = true
	}
	return got
}

func pointName(p sdk.Point) string {
	name := p.Path
	if p.File != "" {
		name = p.File
	}
	if p.Line > 0 {
		name += fmt.Sprintf(":%d", p.Line)
	}
	if p.Branch != "" {
		name += " (" + p.Branch + ")"
	}
	return name
}

// A cover implements sdk.Coverage.
type cover struct {
	mu          sync.Mutex
	known, hits []sdk.Point
}

func (c *cover) Known(all []sdk.Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = append(c.known, all...)
}

func (c *cover) Hit(p sdk.Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits = append(c.hits, p)
}
