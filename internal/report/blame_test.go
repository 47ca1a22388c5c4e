package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
)

func TestBlame(t *testing.T) {
	const head = `apiVersion: v1, kind: C`
	a := func(fields string) string { return `desired: {resources: {a: {resource: {` + fields + `}}}}` }
	cases := map[string]struct {
		reason    string
		responses []string
		want      string
	}{
		"Set":      {"a field belongs to the step that set it", []string{a(`k: 1`), a(`k: 1, l: 2`)}, "a k first\na l second"},
		"Returned": {"a step that returns an unchanged value did not set it", []string{a(`k: 1`), a(`k: 1`), a(`k: 1`)}, "a k first"},
		"Changed":  {"the last change of a field counts", []string{a(`k: 1`), a(`k: 2`), a(`k: 1`)}, "a k third"},
		"Gone":     {"a removed field has no origin", []string{a(`k: 1, l: 1`), a(`k: 1`)}, "a k first"},
		"Again":    {"a field that is removed and added again belongs to the step that added it", []string{a(`k: 1, l: 1`), a(`k: 1`), a(`k: 1, l: 1`)}, "a k first\na l third"},
		"Dropped":  {"a removed resource has no fields", []string{a(`k: 1`), `desired: {}`}, ""},
		"Lists":    {"elements of lists are fields", []string{a(`k: [1, 2]`), a(`k: [1, 3]`)}, "a k[0] first\na k[1] second"},
		"Emptied":  {"an empty object belongs to the step that emptied it", []string{a(`k: {l: 1}`), a(`k: {}`)}, "a k second"},
		"Status":   {"only the status of the XR counts", []string{`desired: {composite: {resource: {` + head + `, statuses: 1, status: {m: 1}}}}`}, "composite status.m first"},
		"Whole":    {"a status that is not an object has an origin", []string{`desired: {composite: {resource: {status: odd}}}`}, "composite status first"},
		"Order":    {"the XR comes first, then names in natural order", []string{`desired: {composite: {resource: {status: {m: 1}}}, resources: {r10: {resource: {k: 1}}, r2: {resource: {k10: 1, k2: 1}}}}`}, "composite status.m first\nr2 k2 first\nr2 k10 first\nr10 k first"},
		"Fatal":    {"a fatal step sets no fields", []string{a(`k: 1`), `{` + a(`k: 2`) + `, results: [{severity: SEVERITY_FATAL}]}`}, "a k first"},
		"NoSteps":  {"a pipeline without steps has no origins", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range run(t, tc.responses...).Blame() {
				resource := o.Resource
				if resource == "" {
					resource = "composite"
				}
				got = append(got, resource+" "+o.Path+" "+o.Step)
			}
			e2e.Equal(t, tc.reason, tc.want, strings.Join(got, "\n"))
		})
	}
}

// TestBlameIsWhole compares the origins with the fields that the last step returned.
func TestBlameIsWhole(t *testing.T) {
	got := map[string]any{}
	for _, o := range run(t, one, `desired: {resources: {a: {resource: {apiVersion: v1, kind: ConfigMap, data: {k: z, o: null, e: [], l: [{x: 1}]}}}}}`).Blame() {
		got[o.Path] = o.Value
	}
	want := map[string]any{}
	for _, c := range fieldpath.Diff(nil, parse(t, `{apiVersion: v1, kind: ConfigMap, data: {k: z, o: null, e: [], l: [{x: 1}]}}`)) {
		want[c.Path] = c.New
	}
	e2e.Equal(t, "each field has its origin", want, got)
}

func TestWriteBlame(t *testing.T) {
	var b bytes.Buffer
	origins := everyday(t).Blame()
	origins = append(origins, report.Origin{Resource: "z", Path: strings.Repeat("long.", 20) + "path", Step: "first"})
	e2e.NoError(t, report.WriteBlame(&b, origins, 80))
	golden(t, "blame.txt", b.Bytes())
}
