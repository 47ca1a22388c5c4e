package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

var findings = []report.Finding{
	{Path: "a b/xr.yaml", Line: 3, Rule: "unknown-field", Title: "XR shop", Text: "unknown field <spec.sise>"},
	{Path: "a b/xr.yaml", Line: 9, Rule: "unknown-field", Title: "XR shop", Text: "unknown field <spec.sise>"},
	{Warning: true, Path: "/tmp/x.yaml", Rule: "no-schema", Text: "no schema | none"},
	{Rule: "test", Title: "suite/case", Text: "failed\nlong"},
	{Path: "C:/a b/x.yaml", Rule: "schema", Text: "wrong"},
}

// TestSARIF checks the output against the JSON schema of SARIF 2.1.0.
func TestSARIF(t *testing.T) {
	for reason, all := range map[string][]report.Finding{"no finding is a run without results": nil, "each finding is a result": findings} {
		var b bytes.Buffer
		e2e.NoError(t, report.WriteSARIF(&b, "v1.2.3", all))
		e2e.NoError(t, e2e.CheckSARIF("../..", b.Bytes()))
		for _, want := range []string{`"uri": "a%20b/xr.yaml",`, `"uri": "file:///tmp/x.yaml"`, `"uri": "file:///C:/a%20b/x.yaml"`, `"startLine": 3`, `"ruleIndex": 2`, `"text": "XR shop: unknown field <spec.sise>"`} {
			if len(all) > 0 && !strings.Contains(b.String(), want) {
				t.Errorf("%s: the output does not have %s:\n%s", reason, want, b.String())
			}
		}
	}
	for _, wrong := range []string{`{"version": "2.1.0"}`, `{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "xfn"}}, "results": [{"message": {"text": "x"}, "level": "bad"}]}]}`} {
		if e2e.CheckSARIF("../..", []byte(wrong)) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
}

func TestCodeQuality(t *testing.T) {
	var b bytes.Buffer
	e2e.NoError(t, report.WriteCodeQuality(&b, findings))
	var list []struct {
		Description, Fingerprint, Severity string
		CheckName                          string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	e2e.NoError(t, json.Unmarshal(b.Bytes(), &list))
	seen := map[string]bool{}
	for i, q := range list {
		if seen[q.Fingerprint] || q.Location.Path == "" || q.Location.Lines.Begin < 1 || q.CheckName != findings[i].Rule || q.Description == "" {
			t.Errorf("problem %d is %+v", i, q)
		}
		seen[q.Fingerprint] = true
	}
	if len(list) != 5 || list[0].Severity != "major" || list[2].Severity != "minor" {
		t.Errorf("the report is %+v", list)
	}
	b.Reset()
	if err := report.WriteCodeQuality(&b, nil); err != nil || b.String() != "[]\n" {
		t.Errorf("a report without findings is %q, %v, want an empty list", b.String(), err)
	}
}

func TestSummary(t *testing.T) {
	var b bytes.Buffer
	e2e.NoError(t, report.WriteSummary(&b, "xfn test", "1 of 2 cases failed", findings))
	want := "### xfn test\n\n1 of 2 cases failed\n\n| | where | what |\n| --- | --- | --- |\n" +
		"| error | a b/xr.yaml:3 | XR shop: unknown field \\<spec.sise\\> |\n" +
		"| error | a b/xr.yaml:9 | XR shop: unknown field \\<spec.sise\\> |\n" +
		"| warning | /tmp/x.yaml | no schema \\| none |\n" +
		"| error |  | suite/case: failed long |\n" +
		"| error | C:/a b/x.yaml | wrong |\n"
	e2e.Equal(t, "each location of a finding is an escaped row", want, b.String())
	b.Reset()
	long := []report.Finding{{Text: strings.Repeat("é", 1e5)}, {Text: strings.Repeat("|", 1e5)}}
	if err := report.WriteSummary(&b, "xfn test", "2 failed", long); err != nil || !utf8.Valid(b.Bytes()) ||
		strings.Count(b.String(), "é… |\n") != 1 || strings.Count(b.String(), "\\|… |\n") != 1 || b.Len() < 3900 || b.Len() > 4100 {
		t.Errorf("long cells give %d bytes, %v: they must be cut at 2000 bytes, at a character", b.Len(), err)
	}
	b.Reset()
	if err := report.WriteSummary(&b, "xfn test", "all passed", make([]report.Finding, 203)); err != nil || !strings.HasSuffix(b.String(), "\n3 more are not shown.\n") {
		t.Errorf("a long summary ends with %q, %v", b.String()[len(b.String())-40:], err)
	}
}
