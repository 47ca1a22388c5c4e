package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

func docs(t *testing.T, texts ...string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, text := range texts {
		all = append(all, parse(t, text))
	}
	return all
}

func TestCompare(t *testing.T) {
	const (
		bucketA = `{apiVersion: s3/v1, kind: Bucket, metadata: {name: a}, spec: {m: 1}}`
		bucketB = `{apiVersion: s3/v1, kind: Bucket, metadata: {name: b}, spec: {m: 1}}`
		result  = `{apiVersion: render/v1, kind: Result, message: %s}`
	)
	part := func(resource, rest string) string {
		return `{apiVersion: s3/v1, kind: Bucket, metadata: {generateName: x-, annotations: {crossplane.io/composition-resource-name: ` + resource + `}` + rest + `}}`
	}
	cases := map[string]struct {
		reason    string
		want, got []string
		diff      string
	}{
		"Equal":      {"equal documents do not differ", []string{bucketA}, []string{bucketA}, ""},
		"Order":      {"the order of documents is ignored", []string{bucketA, bucketB}, []string{bucketB, bucketA}, ""},
		"Differs":    {"a different field is a change", []string{bucketA}, []string{strings.Replace(bucketA, "m: 1", "m: 2", 1)}, "changed Bucket a: ~ spec.m 1 2"},
		"Missing":    {"a missing document is removed", []string{bucketA, `{kind: K}`}, []string{bucketA}, `removed K : - kind "K"`},
		"Unexpected": {"an unexpected document is added", nil, []string{`{kind: K}`}, `added K : + kind "K"`},
		"Renamed":    {"documents with different names are different documents", []string{`{kind: K, metadata: {name: a}}`}, []string{`{kind: K, metadata: {name: b}}`}, `removed K a: - kind "K"` + "\n" + `- metadata.name "a"` + "\n" + `added K b: + kind "K"` + "\n" + `+ metadata.name "b"`},
		"Namespace":  {"documents in different namespaces are different documents", []string{`{kind: K, metadata: {name: a, namespace: ms}}`, `{kind: K, metadata: {name: a, namespace: ns}, x: 1}`}, []string{`{kind: K, metadata: {name: a, namespace: ns}, x: 2}`, `{kind: K, metadata: {name: a, namespace: ms}}`}, "changed K a: ~ x 1 2"},
		"Resource":   {"documents without a name are compared by resource name", []string{part("a", ""), part("b", "")}, []string{part("b", ""), part("a", "")}, ""},
		"Generated":  {"an unexpected name is a change", []string{part("a", "")}, []string{part("a", ", name: x-1")}, `changed Bucket : + metadata.name "x-1"`},
		"Version":    {"a resource in another version is compared", []string{part("a", "")}, []string{strings.Replace(part("a", ""), "s3/v1", "s3/v2", 1)}, `changed Bucket : ~ apiVersion "s3/v1" "s3/v2"`},
		"XRs":        {"equal resource names of several XRs are distinguished", []string{part("a", ", labels: {crossplane.io/composite: one}"), part("a", ", labels: {crossplane.io/composite: two}, x: 1")}, []string{part("a", ", labels: {crossplane.io/composite: two}, x: 2"), part("a", ", labels: {crossplane.io/composite: one}")}, "changed Bucket : ~ metadata.x 1 2"},
		"Nameless":   {"documents without any name are compared in order", []string{fmt.Sprintf(result, "a"), fmt.Sprintf(result, "b")}, []string{fmt.Sprintf(result, "a"), fmt.Sprintf(result, "c")}, `changed Result : ~ message "b" "c"`},
		"Twice":      {"each document is compared with at most one other", []string{bucketA, bucketA}, []string{bucketA}, "removed Bucket a: - apiVersion \"s3/v1\"\n- kind \"Bucket\"\n- metadata.name \"a\"\n- spec.m 1"},
		"Odd":        {"metadata that is not an object is compared", []string{`{kind: K, metadata: [1]}`}, []string{`{kind: K, metadata: {name: 7}}`}, "changed K : + metadata.name 7\n- metadata[0] 1"},
		"Nothing":    {"empty lists are equal", nil, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, d := range report.Compare(docs(t, tc.want...), docs(t, tc.got...)) {
				all = append(all, fmt.Sprintf("%s %s %s: %s", d.Op, d.Kind, d.Name, lines(d.Changes)))
			}
			e2e.Equal(t, tc.reason, tc.diff, strings.Join(all, "\n"))
		})
	}
}

func TestWriteDiff(t *testing.T) {
	want := docs(t,
		`{apiVersion: example.org/v1, kind: XThing, metadata: {name: t, namespace: team-a}, status: {address: 10.0.0.1}}`,
		`{apiVersion: s3/v1, kind: Bucket, metadata: {generateName: t-, annotations: {crossplane.io/composition-resource-name: bucket}}, spec: {acl: private}}`,
		`{message: nameless}`,
	)
	got := docs(t,
		`{apiVersion: example.org/v1, kind: XThing, metadata: {name: t, namespace: team-a}, status: {address: 10.0.0.2, ready: true}}`,
		`{apiVersion: sqs/v1, kind: Queue, metadata: {name: q}}`,
	)
	for name, color := range map[string]bool{"compare.txt": false, "compare-color.txt": true} {
		var b bytes.Buffer
		e2e.NoError(t, report.WriteDiff(&b, report.Compare(want, got), report.Style{Color: color, Columns: 80}))
		golden(t, name, b.Bytes())
	}
}

// TestCompareKeepsDocuments: Compare does not change its inputs.
func TestCompareKeepsDocuments(t *testing.T) {
	want, got := docs(t, `{kind: A, x: [1]}`, `{kind: B}`), docs(t, `{kind: B}`, `{kind: A, x: [2]}`)
	report.Compare(want, got)
	e2e.Equal(t, "the comparison does not change the expected documents", docs(t, `{kind: A, x: [1]}`, `{kind: B}`), want)
	e2e.Equal(t, "the comparison does not change the documents", docs(t, `{kind: B}`, `{kind: A, x: [2]}`), got)
}

func BenchmarkCompare(b *testing.B) {
	var want []map[string]any
	for i := range 10_000 {
		want = append(want, map[string]any{"kind": "K", "metadata": map[string]any{"name": fmt.Sprint(i)}, "spec": map[string]any{"n": float64(i)}})
	}
	for b.Loop() {
		if report.Compare(want, want) != nil {
			b.Fatal("a list of documents differs from itself")
		}
	}
}

// FuzzCompare: each document has at most one partner, and equal documents have no differences.
func FuzzCompare(f *testing.F) {
	f.Add(`[{"kind":"K","metadata":{"name":"a"}},{}]`, `[{"kind":"K","metadata":{"name":"a","namespace":"n"}}]`)
	f.Add(`[{"metadata":{"annotations":{"crossplane.io/composition-resource-name":"r"}}}]`, `[{"metadata":{"labels":1}},{}]`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var want, got []map[string]any
		if json.Unmarshal([]byte(a), &want) != nil || json.Unmarshal([]byte(b), &got) != nil {
			return
		}
		if same := report.Compare(want, want); same != nil {
			t.Errorf("documents differ from themselves: %v", same)
		}
		missing, unexpected := 0, 0
		for _, d := range report.Compare(want, got) {
			switch d.Op {
			case report.Removed:
				missing++
			case report.Added:
				unexpected++
			}
		}
		if len(want)-missing != len(got)-unexpected {
			t.Errorf("%d of %d expected documents are missing, but %d of %d actual ones are unexpected", missing, len(want), unexpected, len(got))
		}
	})
}

func lines(changes []report.Change) string {
	all := make([]string, len(changes))
	for i, c := range changes {
		old, _ := json.Marshal(c.Old)
		is, _ := json.Marshal(c.New)
		values := map[report.Op]string{report.Added: string(is), report.Removed: string(old), report.Changed: string(old) + " " + string(is)}
		all[i] = c.Op.Sign() + " " + c.Path + " " + values[c.Op]
	}
	return strings.Join(all, "\n")
}
