package terminal

import (
	"fmt"
	"io"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/report"
)

// Formats of findings, besides those that a command has for its results.
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
	Summary string `more:"" placeholder:"FILE" help:"Write a summary in Markdown, for example to the file of GITHUB_STEP_SUMMARY."`
}

// Write writes the summary, if the flag is set. verdict is its sentence.
func (s Summary) Write(t *Terminal, f Findings, verdict string) error {
	if s.Summary == "" {
		return nil
	}
	err := fsx.Write(s.Summary, 0o644, func(w io.Writer) error {
		return report.WriteSummary(w, f.Command, t.Redact(verdict), t.findings(f.All))
	})
	if err != nil {
		return fmt.Errorf("writing the summary %q: %w", s.Summary, err)
	}
	return nil
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
// GitHub Actions, as GitHub expects, or else unchanged.
func (t *Terminal) findings(all []Annotation) []report.Finding {
	found := make([]report.Finding, len(all))
	for i, a := range all {
		a.Path, a.Title, a.Text = t.Redact(below(t.workspace, a.Path)), t.Redact(a.Title), t.Redact(a.Text)
		found[i] = report.Finding(a)
	}
	return found
}
