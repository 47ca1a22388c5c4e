package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		e2e.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want := []byte(e2e.ReadFile(t, file))
	e2e.Equal(t, "differs from "+file, string(want), string(got))
}

// everyday returns the trace of a pipeline with all kinds of changes.
func everyday(t testing.TB) report.Trace {
	trace := run(t, `
context: {apiextensions.crossplane.io/environment: {region: eu-central-1, zones: [a, b]}}
requirements: {resources: {environment: {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, matchLabels: {labels: {stage: production}}}}}
`, `
context: {apiextensions.crossplane.io/environment: {region: eu-central-1, zones: [a, b]}}
desired:
  composite: {resource: {apiVersion: example.org/v1, kind: XThing, status: {address: pending}}}
  resources:
    bucket:
      resource:
        apiVersion: s3.aws.m.upbound.io/v1beta1
        kind: Bucket
        metadata: {labels: {example.org/owner: nobody}}
        spec: {forProvider: {region: eu-central-1, tags: {}, acl: private, description: "the first line\nthe second line, which is so long that it cannot stand beside its name"}}
    queue-2: {resource: {apiVersion: sqs/v1, kind: Queue, spec: {size: 3}}}
    queue-10: {resource: {apiVersion: sqs/v1, kind: Queue, spec: {size: 3}}}
results:
- {severity: SEVERITY_WARNING, message: "cannot patch status.arn of the composite from the bucket, since the bucket is not there yet", reason: PatchSkipped}
`, `
context: {apiextensions.crossplane.io/environment: {region: eu-west-1, zones: [a]}}
desired:
  composite: {resource: {apiVersion: example.org/v1, kind: XThing, status: {address: 10.0.0.1}}, ready: READY_FALSE}
  resources:
    bucket:
      ready: READY_TRUE
      connectionDetails: {endpoint: aGlkZGVu}
      resource:
        apiVersion: s3.aws.m.upbound.io/v1beta1
        kind: Bucket
        metadata: {labels: {example.org/owner: team-a}}
        spec: {forProvider: {region: eu-central-1, tags: {cost: "12"}, acl: private, description: "the first line\nthe second line, which is so long that it cannot stand beside ITS name"}}
    queue-10: {resource: {apiVersion: sqs/v1, kind: Queue, spec: {size: 3}}}
conditions:
- {type: Hardened, status: STATUS_CONDITION_TRUE, reason: AllRulesHold, target: TARGET_COMPOSITE_AND_CLAIM}
`, `
results: [{severity: SEVERITY_FATAL, message: "no owner:\n  set spec.owner"}]
`)
	trace.Steps[0].Runtime, trace.Steps[0].Calls = "Docker", 2
	trace.Steps[1].Runtime = "Builtin"
	trace.Error = `pipeline step "fourth" returned a fatal result: no owner`
	return trace
}

func TestText(t *testing.T) {
	quiet := run(t, one, one)
	failed := report.Trace{XR: "x", Steps: []report.Step{{
		Name: "gone", Function: "f", Calls: 1, Took: 3 * time.Second, Error: "connection refused",
	}}}
	for name, tc := range map[string]struct {
		reason string
		trace  report.Trace
		color  bool
	}{
		"trace.txt":        {"the text has all parts of a trace", everyday(t), false},
		"trace-color.txt":  {"the text can have colors", everyday(t), true},
		"trace-quiet.txt":  {"a step without changes is marked as such", quiet, false},
		"trace-failed.txt": {"a failed call shows its error", failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			var b bytes.Buffer
			e2e.NoError(t, tc.trace.Text(&b, report.Style{Color: tc.color, Columns: 80}))
			golden(t, name, b.Bytes())
		})
	}
}

func TestJSON(t *testing.T) {
	b := e2e.Must(json.MarshalIndent(everyday(t), "", "  "))(t)
	golden(t, "trace.json", append(b, '\n'))
	var back report.Trace
	e2e.NoError(t, json.Unmarshal(b, &back))
	e2e.Equal(t, "the JSON has all fields", everyday(t), back)
}

// TestTextOfLongValues: long values are cut in text and whole in JSON.
func TestTextOfLongValues(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	cases := map[string]struct {
		reason string
		change report.Change
		want   string
	}{
		"Added": {
			"a long value is cut",
			report.Change{Path: "a", Op: report.Added, New: long},
			`+ a: "01234567890123456789012345678901234567890"… (959 more bytes)`,
		},
		"Removed": {
			"a long value of a removed field is cut",
			report.Change{Path: "a", Op: report.Removed, Old: long},
			`- a: "01234567890123456789012345678901234567890"… (959 more bytes)`,
		},
		"Below": {
			"the value of a long path is on the next line",
			report.Change{Path: strings.Repeat("p", 60), Op: report.Added, New: long},
			"+ " + strings.Repeat("p", 60) + ":\n             " + `"01234567890123456789012345678901234567890"… (959 more bytes)`,
		},
		"End": {
			"long values that differ at their ends are cut at the beginning",
			report.Change{Path: "a", Op: report.Changed, Old: long + "x", New: long + "y"},
			"~ a:\n           - …" + `"0123456789x"` + "\n           + …" + `"0123456789y"`,
		},
		"Umlaut": {
			"multi-byte characters are not split",
			report.Change{Path: "a", Op: report.Changed, Old: strings.Repeat("é", 60) + "x", New: strings.Repeat("é", 60) + "y"},
			"~ a:\n           - …" + `"éééééx"` + "\n           + …" + `"éééééy"`,
		},
		"Beginning": {
			"long values that differ at the beginning are cut at the end",
			report.Change{Path: "a", Op: report.Changed, Old: "x" + long, New: 1.0},
			"~ a:\n           - " + `"x0123456789012345678901234567890123456789"… (960 more bytes)` + "\n           + 1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trace := report.Trace{Steps: []report.Step{{Changes: []report.ResourceChange{{Op: report.Changed, Fields: []report.Change{tc.change}}}}}}
			var b bytes.Buffer
			e2e.NoError(t, trace.Text(&b, report.Style{Columns: 80}))
			_, got, _ := strings.Cut(b.String(), "composite\n")
			e2e.Equal(t, tc.reason, tc.want, strings.TrimSpace(got))
		})
	}
}

func TestTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\u202e\r\nfake"
	changes := []report.Change{{Path: evil, Op: report.Changed, Old: evil, New: map[string]any{evil: evil}}}
	trace := report.Trace{XR: evil, Error: evil, Steps: []report.Step{{
		Name: evil, Function: evil, Runtime: evil, Error: evil, Requirements: []string{evil}, ContextChanges: changes,
		Results:    []report.Result{{Severity: evil, Message: evil, Reason: evil, Target: evil}},
		Conditions: []report.Condition{{Type: evil, Status: evil, Reason: evil, Message: evil, Target: evil}},
		Changes: []report.ResourceChange{{
			Name: evil, APIVersion: evil, Kind: evil, Fields: changes,
			Ready: &report.Change{New: evil}, ConnectionDetails: []report.Change{{Path: evil, Old: evil}},
		}},
	}}}
	var b bytes.Buffer
	e2e.NoError(t, trace.Text(&b, report.Style{Columns: 80}))
	e2e.NoError(t, report.WriteBlame(&b, []report.Origin{{Resource: evil, Path: evil, Step: evil}}, 80))
	e2e.NoError(t, report.WriteDiff(&b, []report.DocDiff{{APIVersion: evil, Kind: evil, Namespace: evil, Name: evil, Resource: evil, Changes: changes}}, report.Style{Columns: 80}))
	if strings.ContainsAny(b.String(), "\x1b\u202e\r") {
		t.Errorf("the text has control characters: %q", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "fake") {
			t.Errorf("an external string starts a line: %q", line)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTextFails(t *testing.T) {
	for name, err := range map[string]error{
		"Text":  everyday(t).Text(fullDisk{}, report.Style{}),
		"Blame": report.WriteBlame(fullDisk{}, everyday(t).Blame(), 80),
		"Diff":  report.WriteDiff(fullDisk{}, []report.DocDiff{{Kind: "K"}}, report.Style{}),
		"Page":  report.WritePage(fullDisk{}, "Render", []report.Trace{storage()}),
	} {
		e2e.ErrorHas(t, name+": an error of the writer is returned", err, "disk full")
	}
}

// TestNoTerminal checks that files and pipes have whole values on unwrapped lines.
func TestNoTerminal(t *testing.T) {
	long := strings.Repeat("word ", 2000)
	changes := []report.Change{{Path: "spec.a", Op: report.Changed, Old: long + "a", New: long + "b"}, {Path: "spec.b", Op: report.Added, New: long}}
	trace := report.Trace{Error: long, Steps: []report.Step{{Name: "make", Changes: []report.ResourceChange{{Name: "a", Fields: changes}}}}}
	origins := []report.Origin{{Resource: "a", Path: "spec." + strings.Repeat("x", 100), Step: "make"}, {Resource: "a", Path: "spec.y", Step: "make"}}
	var b strings.Builder
	err := errors.Join(
		trace.Text(&b, report.Style{}),
		report.WriteDiff(&b, []report.DocDiff{{Kind: "A", Changes: changes}}, report.Style{}),
		report.WriteBlame(&b, origins, 0),
	)
	e2e.NoError(t, err)
	text := b.String()
	if strings.Contains(text, "…") || strings.Contains(text, "more bytes") {
		t.Error("a value is cut")
	}
	for what, want := range map[string]int{"error: " + long + "\n": 1, long + "b\"\n": 2} {
		e2e.Equal(t, "each text is printed whole and as often as it occurs", want, strings.Count(text, what))
	}
	e2e.Has(t, "the columns of the blame are not as wide as its longest path", text, "spec.y"+strings.Repeat(" ", 99)+"  make\n")
}
