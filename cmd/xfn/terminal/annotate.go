package terminal

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/report"
)

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
