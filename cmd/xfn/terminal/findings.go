package terminal

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/report"
)

// Formats of findings, in addition to a command's formats of results.
const (
	SARIF  = "sarif"
	GitLab = "gitlab"
)

// Findings are the findings of a command, for the formats of code scanning and the summary.
type Findings struct {
	All []Annotation
	// Command is the command, such as "xfn test".
	Command string
	Program Program
}

// Summary is the flag for a summary of the findings.
type Summary struct {
	Summary string `writes:"summary.md" more:"" placeholder:"FILE" help:"Append a summary in Markdown to a file, for example to the file in GITHUB_STEP_SUMMARY."`
}

// Write appends the summary to the file, if the flag is set: what other commands of the step wrote
// stays (GitHub Actions, "Adding a job summary"). verdict is its sentence.
func (s Summary) Write(t *Terminal, f Findings, verdict string) error {
	if s.Summary == "" {
		return nil
	}
	file, err := os.OpenFile(s.Summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = cmp.Or(report.WriteSummary(file, f.Command, t.Redact(verdict), t.findings(f.All)), file.Close())
	}
	return Wrap(fsx.Cause(err), "writing the summary %q", s.Summary)
}

// Print writes the findings to stdout in format SARIF or GitLab. It returns false for other formats.
func (f Findings) Print(t *Terminal, format string) (bool, error) {
	all := t.findings(f.All)
	switch format {
	case SARIF:
		return true, report.WriteSARIF(t.Stdout, f.Program.Version, all)
	case GitLab:
		return true, report.WriteCodeQuality(t.Stdout, all)
	default:
		return false, nil
	}
}

// findings returns annotations without credentials. Paths are relative to the workspace of
// GitHub Actions or GitLab CI, as these expect, or else unchanged.
func (t *Terminal) findings(all []Annotation) []report.Finding {
	found := make([]report.Finding, len(all))
	for i, a := range all {
		a.Path, a.Title, a.Text = t.Redact(below(t.workspace, a.Path)), t.Redact(a.Title), t.Redact(a.Text)
		found[i] = a
	}
	return found
}

// An Annotation is a finding whose Path is as the user named it.
type Annotation = report.Finding

// Annotate prints an annotation to stdout as a workflow command of GitHub Actions,
// which shows it beside the code. Elsewhere it prints nothing.
func (t *Terminal) Annotate(a Annotation) error {
	if !t.actions {
		return nil
	}
	a.Title, a.Text = t.Redact(a.Title), t.Redact(a.Text)
	return t.Printf("%s\n", command(a, t.workspace))
}

// command returns the workflow command of an annotation (GitHub Actions,
// "Workflow commands"). Its path is relative to the workspace.
func command(a Annotation, workspace string) string {
	name := "error"
	if a.Warning {
		name = "warning"
	}
	var props []string
	add := func(key, value string) {
		if value != "" {
			props = append(props, key+"="+inProperty.Replace(value))
		}
	}
	add("file", below(workspace, a.Path))
	if a.Path != "" && a.Line > 0 {
		add("line", fmt.Sprint(a.Line))
	}
	add("title", a.Title)
	if len(props) > 0 {
		name += " "
	}
	return "::" + name + strings.Join(props, ",") + "::" + inText.Replace(a.Text)
}

// These replace characters that would end a workflow command or its property.
var (
	inText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// below returns path relative to dir if it is below dir.
func below(dir, path string) string {
	if rel, err := fsx.Relative(dir, path); err == nil && dir != "" && path != "" && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}
