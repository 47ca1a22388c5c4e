package suite_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/suite"
)

// TestPlan selects, repeats and shards.
func TestPlan(t *testing.T) {
	fsys := example(t, map[string]string{"s.yaml": head + "metadata: {name: s}\ncases: [{name: a}, {name: b}, {name: ab}]"})
	suites := loaded(t, options(fsys), ".")
	names := func(sel suite.Selection) string {
		items, err := suite.Plan(suites, sel)
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, i := range items {
			all = append(all, i.Name())
		}
		return strings.Join(all, " ")
	}
	for want, sel := range map[string]suite.Selection{
		"s/a s/b s/ab": {},
		"s/a s/ab":     {Run: regexp.MustCompile("s/a")},
		"s/b s/b":      {Run: regexp.MustCompile("/b$"), Count: 2},
		"invalid shard 3/2: the index must be between 1 and the count":                  {Shard: suite.Shard{Index: 3, Count: 2}},
		"invalid shard 0/2: the index must be between 1 and the count":                  {Shard: suite.Shard{Index: 0, Count: 2}},
		"the number of runs must be at least 1":                                         {Count: -1},
		"3 cases cannot run 999999999 times: at most 1000000 runs are allowed in total": {Count: 999_999_999},
	} {
		e2e.Equal(t, fmt.Sprintf("%+v selects these cases, or is an error", sel), want, names(sel))
	}
	for text, want := range map[string]string{"2/4": "", "1/1": "", "0/4": "invalid shard 0/4", "5/4": "invalid shard 5/4", "x": `"x" is not a shard`, "1/x": "is not a shard", "0/0": "invalid shard 0/0", "1/1000000": "", "1/1000001": "at most 1000000 shards are allowed", "-1/-1": "invalid shard"} {
		e2e.WantError(t, text+" has the index and the count of a shard, or is an error", e2e.Err(suite.ParseShard(text)), want)
	}
}

// generated returns a suite of n cases. Of each hundred, one case fails after
// the render, one is skipped, and the others pass, most without a function.
func generated(n int) string {
	var b strings.Builder
	b.WriteString(head + "metadata: {name: many}\ndefaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}\ncases:\n")
	for i := range n {
		switch {
		case i%100 == 0:
			fmt.Fprintf(&b, "- {name: case %d, expect: {count: {total: 2}}}\n", i)
		case i%100 == 1:
			fmt.Fprintf(&b, "- {name: case %d, skip: later}\n", i)
		case i%10 == 2:
			fmt.Fprintf(&b, "- {name: case %d, xr: {patch: {spec: {bucketRegion: r%d}}}, expect: {resources: {storage-bucket: {spec.forProvider.region: r%d}}}}\n", i, i, i)
		default:
			fmt.Fprintf(&b, "- {name: case %d, composition: xr.yaml, expect: {error: expected a Composition}}\n", i)
		}
	}
	return b.String()
}

// TestShards checks that each of ten thousand cases is in one of 4 or 16 shards, and that
// shards have similar sizes. Adding a case does not move other cases to another shard.
func TestShards(t *testing.T) {
	if testing.Short() {
		t.Skip("it splits 10,000 cases")
	}
	const n = 10_000
	o := options(example(t, map[string]string{"s.yaml": generated(n)}))
	suites, more := loaded(t, o, "."), loaded(t, options(example(t, map[string]string{"s.yaml": generated(n + 1)})), ".")
	for _, count := range []int{4, 16} {
		seen := map[string]bool{}
		for index := range count {
			shard := suite.Selection{Shard: suite.Shard{Index: index + 1, Count: count}}
			items := planned(t, suites, shard)
			if mean := n / count; len(items) < mean*85/100 || len(items) > mean*115/100 {
				t.Errorf("shard %d of %d has %d cases, which is not about %d", index+1, count, len(items), mean)
			}
			for _, item := range items {
				if seen[item.Name()] {
					t.Errorf("%s is in two of %d shards", item.Name(), count)
				}
				seen[item.Name()] = true
			}
			if after := len(planned(t, more, shard)) - len(items); after != 0 && after != 1 {
				t.Errorf("after one case was added, shard %d of %d had %d more", index+1, count, after)
			}
		}
		e2e.Equal(t, "each case is in one shard", n, len(seen))
	}
}

// TestShardsHaveTheSameOutcomes runs cases in one shard and in four.
func TestShardsHaveTheSameOutcomes(t *testing.T) {
	const n, count = 1000, 4
	o := options(example(t, map[string]string{"s.yaml": generated(n)}))
	suites := loaded(t, o, ".")
	want := outcomes(t, o, planned(t, suites, suite.Selection{}))
	tally := map[suite.Status]int{}
	for _, s := range want {
		tally[s]++
	}
	e2e.Equal(t, "a single shard runs all cases", map[suite.Status]int{suite.Failed: n / 100, suite.Skipped: n / 100, suite.Passed: n - n/50}, tally)
	got := map[string]suite.Status{}
	for index := range count {
		maps.Copy(got, outcomes(t, o, planned(t, suites, suite.Selection{Shard: suite.Shard{Index: index + 1, Count: count}})))
	}
	e2e.Equal(t, fmt.Sprintf("the results do not depend on the shards: %d", count), want, got)
}

// outcomes returns the statuses of items, which have unique names.
func outcomes(t *testing.T, o suite.Options, items []suite.Item) map[string]suite.Status {
	t.Helper()
	got := map[string]suite.Status{}
	for _, out := range runItems(t, items, o) {
		if _, twice := got[out.Name()]; twice {
			t.Errorf("%s ran twice", out.Name())
		}
		got[out.Name()] = out.Status
	}
	return got
}
