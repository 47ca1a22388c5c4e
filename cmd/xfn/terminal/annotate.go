package terminal

import (
	"fmt"
	"path/filepath"
	"strings"
)

// An Annotation is a remark on a line of a file.
type Annotation struct {
	// Warning says that it is no error.
	Warning bool
	// Path and Line are where it is, as the user named it. Line is 0 for all of
	// a file, and Path is empty if no file is meant.
	Path string
	Line int
	// Title is a few words, and Text says the rest.
	Title, Text string
}

// Annotate shows an annotation beside the code, where the program runs in GitHub
// Actions: it prints a workflow command to stdout, which is where those are read
// from. Elsewhere it prints nothing.
func (t *Terminal) Annotate(a Annotation) error {
	if !t.actions {
		return nil
	}
	if _, err := fmt.Fprintln(t.Stdout, a.command(t.workspace)); err != nil {
		return fmt.Errorf("printing an annotation: %w", err)
	}
	return nil
}

// command returns the workflow command of an annotation (GitHub Actions,
// "Workflow commands"). Paths are those below the workspace.
func (a Annotation) command(workspace string) string {
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

// These replace what would end a command, or a property of one.
var (
	inText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// below returns path as it is seen from dir, if it is there.
func below(dir, path string) string {
	if dir == "" || path == "" {
		return filepath.ToSlash(path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}
