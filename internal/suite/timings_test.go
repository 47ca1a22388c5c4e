package suite_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// TestReadTimings reads good and bad files, and shows what they say by the split of cases a to d
// into two shards.
func TestReadTimings(t *testing.T) {
	const json = `{"passed": 3, "cases": [{"suite": "s", "case": "a", "seconds": 3}, {"suite": "s", "case": "b", "status": "failed", "failures": [{"text": "x"}], "seconds": 1}, {"suite": "s", "case": "c", "seconds": 1}], "coverage": {"x": []}}`
	junit := func(cases ...report.JUnitCase) string {
		var b strings.Builder
		e2e.NoError(t, report.WriteJUnit(&b, []report.JUnitSuite{{Name: "s", Cases: cases}}))
		return b.String()
	}
	one := junit(report.JUnitCase{Name: "a", Class: "s", Seconds: 3, Failure: &report.JUnitFailure{Message: "no", Text: "<no>"}}, report.JUnitCase{Name: "b", Class: "s", Seconds: 1})
	cases := map[string]struct {
		reason, text, want string
	}{
		"JSON":       {"the longest case has a shard of its own; case d counts as the median", json, "a | b c d; 3s 3s; 1 unknown"},
		"JUnit":      {"a JUnit report has the same times", strings.Replace(one, "</testsuite>", `<testcase name="c" classname="s" time="1.000"></testcase></testsuite>`, 1), "a | b c d; 3s 3s; 1 unknown"},
		"JSON twice": {"the mean of two runs counts", json + "\n" + `{"cases": [{"suite": "s", "case": "d", "seconds": 9}, {"suite": "s", "case": "b", "seconds": 3}]}`, "d | a b c; 9s 6s; 0 unknown"},
		"JUnits":     {"JUnit reports can follow each other", one + junit(report.JUnitCase{Name: "c", Class: "s", Seconds: 7}, report.JUnitCase{Name: "d", Class: "s", Seconds: 1}), "c | a b d; 7s 5s; 0 unknown"},
		"Zero":       {"cases with a duration of zero are spread over the shards", `{"cases": [{"suite": "s", "case": "a", "seconds": 0}, {"suite": "s", "case": "b", "seconds": 0}]}`, "a c | b d; 200µs 200µs; 2 unknown"},
		"Other":      {"cases of another suite give equal shards", `{"cases": [{"suite": "o", "case": "a", "seconds": 5}]}`, "a c | b d; 10s 10s; 4 unknown"},
		"Empty":      {"an empty file is an error", " \n", "expected reports of xfn test in JSON or as JUnit, got an empty file"},
		"Text":       {"another format is an error", "ok buckets", `expected reports of xfn test in JSON or as JUnit, got a file that begins with 'o'`},
		"No cases":   {"a report without cases is an error", `{"cases": []}`, "the reports have no cases"},
		"Other JSON": {"JSON of another form is an error", `{"runs": []}`, `reading report 1, near byte 12: there is no list "cases"`},
		"Other XML":  {"XML of another form is an error", `<a><b/></a>`, "the reports have no cases"},
		"Truncated":  {"JSON that ends too early is an error", json[:60], "reading report 1, near byte 24: unexpected EOF"},
		"Cut XML":    {"JUnit that ends too early is an error", one[:len(one)-20], "unexpected EOF"},
		"Second":     {"the error names the report", json + json[:2], "reading report 2, near byte "},
		"Type":       {"the error for a field of a wrong type has no type of Go", `{"cases": [{"suite": 1}]}`, "suite must not be a JSON number"},
		"List":       {"a list of cases that is not a list is an error", `{"cases": 1}`, "cases: expected a list, got 1"},
		"Negative":   {"a negative time is an error", strings.Replace(json, "3}", "-3}", 1), `case "s/a": expected between 0 and 31536000 seconds, got -3`},
		"No time":    {"a case without a time is an error", `{"cases": [{"suite": "s", "case": "a"}]}`, `case "s/a" has no seconds`},
		"No name":    {"a case without a name is an error", `{"cases": [{"seconds": 1}]}`, "a case has no name"},
		"JUnit time": {"a JUnit time that is not a number is an error", `<testcase name="a" classname="s" time="fast"/>`, `line 1: case "a": expected a number of seconds in the attribute time, got "fast"`},
		"NaN":        {"a time that is not finite is an error", `<testcase name="a" classname="s" time="NaN"/>`, `line 1: case "s/a": expected between 0 and 31536000 seconds, got NaN`},
	}
	items := named(4, func(i int) string { return string(rune('a' + i)) })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if timings, err := suite.ReadTimings(strings.NewReader(tc.text)); err != nil {
				got = err.Error()
			} else {
				got = describe(timings.Split(items, 2))
			}
			if got != tc.want && (!strings.Contains(got, tc.want) || strings.Contains(tc.want, "|")) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// named returns n items of the suite s.
func named(n int, name func(i int) string) []suite.Item {
	s, items := &suite.Suite{Name: "s", Path: "s.yaml"}, make([]suite.Item, n)
	for i := range items {
		items[i] = suite.Item{Suite: s, Case: &spec.Case{Name: name(i)}}
	}
	return items
}

func describe(s suite.Split) string {
	var parts []string
	for index := range s.Loads {
		var names []string
		for _, i := range s.Items(suite.Shard{Index: index + 1, Count: len(s.Loads)}) {
			names = append(names, i.Case.Name)
		}
		parts = append(parts, strings.Join(names, " "))
	}
	return fmt.Sprintf("%s; %s; %d unknown", strings.Join(parts, " | "), strings.Trim(fmt.Sprint(s.Loads), "[]"), s.Unknown)
}

// TestSplitOfAMonorepo simulates 200 machines that run the cases of a large repository, whose
// durations have a heavy tail: the median is 20 ms, one case in a thousand takes more than 2 s,
// and the timeout is 60 s. The recorded durations come from an earlier run and differ by up to a
// quarter, and one case in a hundred is new. Each case runs on one machine, and the slowest
// machine needs at most a tenth more than the mean. XFN_SCALE=1000000 is the number of cases, by
// default a tenth of that.
func TestSplitOfAMonorepo(t *testing.T) {
	if testing.Short() {
		t.Skip("it splits 100,000 cases")
	}
	t.Parallel()
	const machines = 200
	n := e2e.Must(strconv.Atoi(cmp.Or(os.Getenv("XFN_SCALE"), "100000")))(t)
	items := named(n, func(i int) string { return fmt.Sprint("case ", i) })
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 22))
		actual := make(map[string]time.Duration, n)
		var recorded strings.Builder
		recorded.WriteString(`{"cases": [{"suite": "s", "case": "removed", "seconds": 1}`)
		for i, item := range items {
			seconds := min(60, 0.02*math.Exp(1.5*random.NormFloat64()))
			actual[item.Name()] = time.Duration(seconds * float64(time.Second))
			if i%100 != 0 {
				fmt.Fprintf(&recorded, `, {"suite": "s", "case": %q, "seconds": %.6f}`, item.Case.Name, seconds*(0.75+random.Float64()/2))
			}
		}
		recorded.WriteString("]}")
		timings := e2e.Must(suite.ReadTimings(strings.NewReader(recorded.String())))(t)
		split := timings.Split(items, machines)
		e2e.Equal(t, fmt.Sprintf("seed %d: the same times give two splits", seed), timings.Split(items, machines).Digest(), split.Digest())
		if want := (n + 99) / 100; split.Unknown != want {
			t.Errorf("seed %d: got %d cases without a time, want %d", seed, split.Unknown, want)
		}
		var byTime, byCount [machines]time.Duration
		for i, item := range items {
			byCount[i%machines] += actual[item.Name()]
		}
		for index := range machines {
			for _, item := range split.Items(suite.Shard{Index: index + 1, Count: machines}) {
				took, ok := actual[item.Name()]
				if !ok {
					t.Fatalf("seed %d: %s runs twice", seed, item.Name())
				}
				byTime[index] += took
				delete(actual, item.Name())
			}
		}
		if len(actual) > 0 {
			t.Errorf("seed %d: %d cases run nowhere", seed, len(actual))
		}
		t.Logf("seed %d: the slowest machine needs %.3f times the mean; by the recorded times %.4f; with equal numbers of cases %.3f",
			seed, worst(byTime[:]), worst(split.Loads), worst(byCount[:]))
		if worst(byTime[:]) > 1.1 || worst(split.Loads) > 1.01 {
			t.Errorf("seed %d: the slowest machine needs %.3f times the mean, want at most 1.1", seed, worst(byTime[:]))
		}
	}
}

// worst returns the largest load as a multiple of the mean.
func worst(loads []time.Duration) float64 {
	s := suite.Split{Loads: loads}
	return s.Slowest().Seconds() / s.Mean().Seconds()
}
