package dev

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestPlanOf(t *testing.T) {
	cases := map[string]struct {
		reason  string
		changes []Change
		want    Plan
	}{
		"Nothing": {"no change needs no work", nil, Plan{}},
		"Source": {
			"a changed source renders, tests, and restarts its function once",
			[]Change{{Path: "fn/a.go", Source: "fn"}, {Path: "fn/b.go", Source: "fn"}},
			Plan{Restart: []string{"fn"}, Render: true, Test: true, Changed: []string{"fn/a.go", "fn/b.go"}},
		},
		"TwoSources": {
			"a module that two functions share restarts both",
			[]Change{{Path: "lib/l.go", Source: "g"}, {Path: "lib/l.go", Source: "f"}},
			Plan{Restart: []string{"f", "g"}, Render: true, Test: true, Changed: []string{"lib/l.go"}},
		},
		"Input":  {"an input of the render only renders", []Change{{Path: "xr.yaml"}}, Plan{Render: true, Changed: []string{"xr.yaml"}}},
		"Suite":  {"a suite only tests", []Change{{Path: "suite.yaml"}}, Plan{Test: true, Changed: []string{"suite.yaml"}}},
		"Shared": {"a file that both read renders and tests", []Change{{Path: "composition.yaml"}}, Plan{Render: true, Test: true, Changed: []string{"composition.yaml"}}},
		"Nobody": {"a file that is no longer read is named, and needs no work", []Change{{Path: "old.yaml"}}, Plan{Changed: []string{"old.yaml"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := planOf(tc.changes, []string{"composition.yaml", "xr.yaml"}, []string{"composition.yaml", "suite.yaml"})
			e2e.Equal(t, tc.reason, tc.want, got)
			if got.empty() == (tc.want.Render || tc.want.Test) {
				t.Errorf("%s: empty is %t", tc.reason, got.empty())
			}
		})
	}
}

func TestPlanAnd(t *testing.T) {
	a := Plan{Restart: []string{"b", "a"}, Render: true, Changed: []string{"x"}}
	b := Plan{Restart: []string{"a"}, Test: true, Accept: true, Changed: []string{"w", "x"}}
	want := Plan{Restart: []string{"a", "b"}, Render: true, Test: true, Accept: true, Changed: []string{"w", "x"}}
	for _, got := range []Plan{a.and(b), b.and(a)} {
		e2e.Equal(t, "the plans of two changes have the actions of both in any order", want, got)
	}
}
