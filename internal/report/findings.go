package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// A Finding is a problem in a file.
type Finding struct {
	// Warning is true for a warning, and false for an error.
	Warning bool
	// Path has slashes, and is relative to the root of the sources if it is in them. It is ""
	// for no file. Line is 0 for the whole file.
	Path string
	Line int
	// Rule is the identifier of the kind of problem, such as "unknown-field". Title is the
	// subject, such as the name of a resource.
	Rule, Title, Text string
}

func (f Finding) message() string {
	if f.Title == "" || f.Title == f.Rule {
		return f.Text
	}
	return f.Title + ": " + f.Text
}

// fingerprints returns a string for each finding that identifies it in later runs, when other lines of
// the file may have changed. Equal findings have different fingerprints.
func fingerprints(all []Finding) []string {
	seen, found := map[string]int{}, make([]string, len(all))
	for i, f := range all {
		key := strings.Join([]string{f.Rule, f.Path, f.Title, f.Text}, "\x00")
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, seen[key]))
		seen[key]++
		found[i] = hex.EncodeToString(sum[:])
	}
	return found
}

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// WriteSARIF writes findings of a version of xfn in SARIF 2.1.0 (OASIS, "Static Analysis Results
// Interchange Format"). It returns only errors of w.
func WriteSARIF(w io.Writer, version string, all []Finding) error {
	run := sarifRun{Results: []sarifResult{}, Tool: sarifTool{sarifDriver{
		Name: "xfn", Version: version, InformationURI: "https://github.com/xfn-dev/xfn", Rules: []sarifRule{},
	}}}
	prints := fingerprints(all)
	for i, f := range all {
		index := slices.Index(run.Tool.Driver.Rules, sarifRule{f.Rule})
		if index < 0 {
			index = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule})
		}
		level := "error"
		if f.Warning {
			level = "warning"
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index, Level: level, Message: sarifMessage{f.message()},
			Locations: f.locations(), Fingerprints: map[string]string{"xfn/v1": prints[i]},
		})
	}
	return writeJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// locations returns the position, or nothing for no file.
func (f Finding) locations() []sarifLocation {
	if f.Path == "" {
		return nil
	}
	at := sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: f.Path}).String(), Base: "%SRCROOT%"}}
	if drive, _, ok := strings.Cut(f.Path, ":/"); path.IsAbs(f.Path) || ok && len(drive) == 1 {
		at.Artifact = sarifArtifact{URI: (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(f.Path, "/")}).String()}
	}
	if f.Line > 0 {
		at.Region = &sarifRegion{f.Line}
	}
	return []sarifLocation{{at}}
}

// A codeQuality is one problem in a report of GitLab ("Code Quality report format").
type codeQuality struct {
	Description string          `json:"description"`
	CheckName   string          `json:"check_name"`
	Fingerprint string          `json:"fingerprint"`
	Severity    string          `json:"severity"`
	Location    qualityLocation `json:"location"`
}

type qualityLocation struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// WriteCodeQuality writes findings as a code quality report of GitLab, which requires a path and
// a line. It returns only errors of w.
func WriteCodeQuality(w io.Writer, all []Finding) error {
	list, prints := []codeQuality{}, fingerprints(all)
	for i, f := range all {
		q := codeQuality{Description: f.message(), CheckName: f.Rule, Fingerprint: prints[i], Severity: "major"}
		if f.Warning {
			q.Severity = "minor"
		}
		q.Location.Path, q.Location.Lines.Begin = f.Path, max(f.Line, 1)
		if f.Path == "" {
			q.Location.Path = "."
		}
		list = append(list, q)
	}
	return writeJSON(w, list)
}

// These limit the table of a summary: its rows, and the bytes of a cell. GitHub accepts 1 MiB for
// a step.
const (
	maxRows = 200
	maxCell = 2000
)

// WriteSummary writes a title, a sentence and a table of findings in GitHub's Markdown. It returns
// only errors of w.
func WriteSummary(w io.Writer, title, sentence string, all []Finding) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n", inCell(title), inCell(sentence))
	if len(all) > 0 {
		b.WriteString("\n| | where | what |\n| --- | --- | --- |\n")
	}
	for _, f := range all[:min(len(all), maxRows)] {
		level, where := "error", f.Path
		if f.Warning {
			level = "warning"
		}
		if f.Path != "" && f.Line > 0 {
			where = fmt.Sprintf("%s:%d", f.Path, f.Line)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", level, inCell(where), inCell(f.message()))
	}
	if more := len(all) - maxRows; more > 0 {
		fmt.Fprintf(&b, "\n%d more are not shown.\n", more)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing a summary: %w", err)
	}
	return nil
}

// inCell returns an external text for a cell of a table: one line without Markdown or HTML. A longer
// text than maxCell ends with "…".
func inCell(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if b.Len() > maxCell-2*utf8.UTFMax {
			b.WriteRune('…')
			break
		}
		if strings.ContainsRune("\\`*_[]<>|#~@!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func writeJSON(w io.Writer, value any) error {
	if err := manifest.WriteJSON(w, "  ", value); err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	return nil
}
