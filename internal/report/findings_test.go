package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/report"
)

var findings = []report.Finding{
	{Path: "a b/xr.yaml", Line: 3, Rule: "unknown-field", Title: "XR shop", Text: "unknown field <spec.sise>"},
	{Path: "a b/xr.yaml", Line: 9, Rule: "unknown-field", Title: "XR shop", Text: "unknown field <spec.sise>"},
	{Warning: true, Path: "/tmp/x.yaml", Rule: "no-schema", Text: "no schema | none"},
	{Rule: "test", Title: "suite/case", Text: "failed\nlong"},
	{Path: "C:/a b/x.yaml", Rule: "schema", Text: "wrong"},
}

// TestSARIF checks the output against the rules of the SARIF 2.1.0 schema for the objects that it
// contains: required and allowed properties, types, enumerations and minima.
func TestSARIF(t *testing.T) {
	for reason, all := range map[string][]report.Finding{"no finding is a run without results": nil, "each finding is a result": findings} {
		var b bytes.Buffer
		if err := report.WriteSARIF(&b, "v1.2.3", all); err != nil {
			t.Fatal(err)
		}
		var log any
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		if err := sarifObject.check("log", log); err != nil {
			t.Errorf("%s: %v\n%s", reason, err, b.String())
		}
		for _, want := range []string{`"uri": "a%20b/xr.yaml",`, `"uri": "file:///tmp/x.yaml"`, `"uri": "file:///C:/a%20b/x.yaml"`, `"startLine": 3`, `"ruleIndex": 2`, `"text": "XR shop: unknown field <spec.sise>"`} {
			if len(all) > 0 && !strings.Contains(b.String(), want) {
				t.Errorf("%s: the output does not have %s:\n%s", reason, want, b.String())
			}
		}
	}
}

// A shape is a part of a JSON schema.
type shape struct {
	required, optional map[string]shape
	items              *shape
	values             []string // an enumeration of strings
	kind               string   // "string", "integer" or "strings", an object whose values are strings
	min                float64
}

var (
	text        = shape{kind: "string"}
	sarifObject = shape{
		required: map[string]shape{"version": {values: []string{"2.1.0"}}, "runs": {items: &sarifRunShape}},
		optional: map[string]shape{"$schema": text},
	}
	sarifRunShape = shape{
		required: map[string]shape{"tool": {required: map[string]shape{"driver": {
			required: map[string]shape{"name": text},
			optional: map[string]shape{"version": text, "informationUri": text, "rules": {items: &shape{required: map[string]shape{"id": text}}}},
		}}}},
		optional: map[string]shape{"results": {items: &sarifResultShape}},
	}
	sarifResultShape = shape{
		required: map[string]shape{"message": {required: map[string]shape{"text": text}}},
		optional: map[string]shape{
			"ruleId": text, "ruleIndex": {kind: "integer", min: -1}, "partialFingerprints": {kind: "strings"},
			"level": {values: []string{"none", "note", "warning", "error"}},
			"locations": {items: &shape{optional: map[string]shape{"physicalLocation": {optional: map[string]shape{
				"artifactLocation": {optional: map[string]shape{"uri": text, "uriBaseId": text}},
				"region":           {optional: map[string]shape{"startLine": {kind: "integer", min: 1}}},
			}}}}},
		},
	}
)

// check returns an error unless value has the shape.
func (s shape) check(at string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		for name := range s.required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s has no %s", at, name)
			}
		}
		for name, field := range v {
			inner, ok := s.required[name]
			if !ok {
				inner, ok = s.optional[name]
			}
			if s.kind == "strings" {
				inner, ok = text, true
			}
			if !ok {
				return fmt.Errorf("%s has the unknown property %s", at, name)
			}
			if err := inner.check(at+"."+name, field); err != nil {
				return err
			}
		}
		return nil
	case []any:
		for i, item := range v {
			if s.items == nil {
				return fmt.Errorf("%s is an array", at)
			}
			if err := s.items.check(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
				return err
			}
		}
		return nil
	case string:
		if s.kind != "string" && !strings.Contains(" "+strings.Join(s.values, " ")+" ", " "+v+" ") {
			return fmt.Errorf("%s is %q", at, v)
		}
		return nil
	case float64:
		if s.kind != "integer" || v < s.min || v != float64(int(v)) {
			return fmt.Errorf("%s is %v", at, v)
		}
		return nil
	default:
		return fmt.Errorf("%s is %v", at, v)
	}
}

func TestCodeQuality(t *testing.T) {
	var b bytes.Buffer
	if err := report.WriteCodeQuality(&b, findings); err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Description, Fingerprint, Severity string
		CheckName                          string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
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
	if err := report.WriteSummary(&b, "xfn test", "1 of 2 cases failed", findings); err != nil {
		t.Fatal(err)
	}
	want := "### xfn test\n\n1 of 2 cases failed\n\n| | where | what |\n| --- | --- | --- |\n" +
		"| error | a b/xr.yaml:3 | XR shop: unknown field \\<spec.sise\\> |\n" +
		"| error | a b/xr.yaml:9 | XR shop: unknown field \\<spec.sise\\> |\n" +
		"| warning | /tmp/x.yaml | no schema \\| none |\n" +
		"| error |  | suite/case: failed long |\n" +
		"| error | C:/a b/x.yaml | wrong |\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
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
