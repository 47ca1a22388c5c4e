package validate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

type format interface {
	result(r validate.Result) error
	end(c validate.Counts) error
}

// noFormat prints nothing for a result, because the format needs all of them.
type noFormat struct{}

func (noFormat) result(validate.Result) error { return nil }

func (noFormat) end(validate.Counts) error { return nil }

// textFormat prints the lines of the crossplane CLI, which scripts parse, with the
// position at the end.
type textFormat struct {
	term     *terminal.Terminal
	excerpts *terminal.Excerpter
	// strict makes missing schemas errors.
	strict bool
}

func (t textFormat) result(r validate.Result) error {
	switch {
	case r.Status == validate.Valid:
		if err := t.write("[✓]", of(r)+" validated successfully", ""); err != nil {
			return err
		}
	case r.Status == validate.NoSchema:
		return t.missing(r)
	}
	return t.faults(r, r.Faults)
}

// faults prints some of the faults of a resource.
func (t textFormat) faults(r validate.Result, faults []validate.Fault) error {
	for _, f := range faults {
		note, mark, what := note(r, f, t.strict), "[x]", "schema validation error "
		switch {
		case f.Warning:
			mark, what = "[!]", "warning "
		case f.Type == validate.Rule:
			what = "CEL validation error "
		}
		what += of(r) + " : "
		if r.Kind == "" && r.APIVersion == "" && r.Name == "" {
			what = ""
		}
		excerpt := t.excerpts.Of(note)
		if r.Kind == "Secret" { // Its lines can be confidential.
			excerpt = ""
		}
		if err := t.write(t.term.Severity(note, mark), what+f.String()+at(r.Path, f.Line), excerpt); err != nil {
			return err
		}
		if err := t.term.Annotate(note); err != nil {
			return err
		}
	}
	return nil
}

// missing prints that the schema of a resource is missing or invalid, and the warnings of the resource.
func (t textFormat) missing(r validate.Result) error {
	text := "could not find CRD/XRD for: " + kindOf(r) + hint.DidYouMean(r.Nearest)
	unusable, warnings := unusable(r)
	for _, f := range unusable {
		text = "could not use CRD/XRD for: " + kindOf(r) + ": " + f.String()
	}
	if err := t.write(t.term.Severity(terminal.Annotation{Warning: !t.strict}, "[!]"), text+at(r.Path, r.Line), ""); err != nil {
		return err
	}
	for _, f := range unusable {
		if err := t.term.Annotate(note(r, f, t.strict)); err != nil {
			return err
		}
	}
	return t.faults(r, warnings)
}

// unusable returns the fault of a resource without a schema that says why the schema cannot be used,
// if there is one, and the warnings of the resource.
func unusable(r validate.Result) (reason, warnings []validate.Fault) {
	for _, f := range r.Faults {
		if f.Warning {
			warnings = append(warnings, f)
		} else {
			reason = append(reason, f)
		}
	}
	return reason, warnings
}

// note returns a fault as a message about its line. A missing schema is an error if strict.
func note(r validate.Result, f validate.Fault, strict bool) terminal.Annotation {
	rule := "schema"
	if r.Status == validate.NoSchema && !f.Warning {
		rule = "no-schema"
	}
	return terminal.Annotation{Warning: f.Warning || r.Status == validate.NoSchema && !strict, Path: r.Path, Line: f.Line, Rule: rule, Title: of(r), Text: f.String()}
}

func (t textFormat) end(c validate.Counts) error {
	return t.write("", total(c), "")
}

// total returns the last line of the crossplane CLI.
func total(c validate.Counts) string {
	return fmt.Sprintf("Total %d resources: %d missing schemas, %d success cases, %d failure cases", c.Total, c.NoSchema, c.Valid, c.Invalid)
}

// write writes a line after a mark, without the line breaks and control characters of
// external texts, and an excerpt below it.
func (t textFormat) write(mark, line, excerpt string) error {
	line = terminal.Printable(strings.Join(strings.Fields(line), " "))
	_, err := io.WriteString(t.term.Stdout, terminal.Lines(strings.TrimPrefix(mark+" "+line, " "))+excerpt)
	return err
}

type junitFormat struct {
	w      io.Writer
	suites []report.JUnitSuite
}

func (j *junitFormat) result(r validate.Result) error {
	if n := len(j.suites); n == 0 || j.suites[n-1].Name != r.Path {
		j.suites = append(j.suites, report.JUnitSuite{Name: r.Path})
	}
	suite := &j.suites[len(j.suites)-1]
	c := report.JUnitCase{Name: of(r), Class: r.Path}
	var wrong, warnings []string
	for _, f := range r.Faults {
		if text := f.String() + at(r.Path, f.Line); f.Warning {
			warnings = append(warnings, "warning: "+text)
		} else {
			wrong = append(wrong, text)
		}
	}
	c.Output = strings.Join(warnings, "\n")
	switch r.Status {
	case validate.Invalid:
		c.Failure = &report.JUnitFailure{Message: wrong[0], Text: strings.Join(wrong, "\n")}
	case validate.NoSchema:
		c.Skipped = "there is no schema that can be used"
	}
	suite.Cases = append(suite.Cases, c)
	return nil
}

func (j *junitFormat) end(validate.Counts) error { return report.WriteJUnit(j.w, j.suites) }

// A resource is a result in JSON and YAML. The fields before Warnings are those of the crossplane CLI,
// which scripts read.
type resource struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Name       string  `json:"name"`
	Namespace  string  `json:"namespace,omitempty"`
	Status     string  `json:"status"`
	Errors     []fault `json:"errors,omitempty"`
	Warnings   []fault `json:"warnings,omitempty"`
	File       string  `json:"file,omitempty"`
	Line       int     `json:"line,omitempty"`
	Partial    bool    `json:"partial,omitempty"`
	Nearest    string  `json:"nearest,omitempty"`
}

// A fault is an error or a warning of a resource. The fields before Line are those of the crossplane CLI.
type fault struct {
	Type    validate.FaultType `json:"type"`
	Field   string             `json:"field,omitempty"`
	Message string             `json:"message"`
	Value   any                `json:"value,omitempty"`
	Line    int                `json:"line,omitempty"`
	Nearest string             `json:"nearest,omitempty"`
}

func resourceOf(r validate.Result) resource {
	out := resource{
		APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, Namespace: r.Namespace, Status: string(r.Status),
		File: r.Path, Line: r.Line, Partial: r.Partial, Nearest: r.Nearest,
	}
	if r.Status == validate.NoSchema {
		out.Status = "missingSchema"
	}
	for _, f := range r.Faults {
		one := fault{Type: cmp.Or(f.Type, validate.Schema), Field: f.Field, Message: f.Text, Line: f.Line, Nearest: f.Nearest}
		if !r.Partial { // The crossplane CLI prints no values of kinds of Kubernetes, such as Secret.
			one.Value = f.Value
		}
		if f.Warning {
			out.Warnings = append(out.Warnings, one)
		} else {
			out.Errors = append(out.Errors, one)
		}
	}
	return out
}

// redacted returns a copy of a value of JSON types, whose texts have been redacted.
func redacted(value any, redact func(string) string) any {
	switch v := value.(type) {
	case string:
		return redact(v)
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = redacted(item, redact)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, item := range v {
			all[redact(key)] = redacted(item, redact)
		}
		return all
	}
	return value
}

// jsonFormat prints one object with one result on each line.
type jsonFormat struct {
	w     io.Writer
	begun bool
}

func (j *jsonFormat) result(r validate.Result) error {
	text, err := json.Marshal(resourceOf(r))
	if err != nil {
		return err
	}
	before := ",\n"
	if !j.begun {
		before, j.begun = "{\"resources\": [\n", true
	}
	_, err = io.WriteString(j.w, before+string(text))
	return err
}

func (j *jsonFormat) end(c validate.Counts) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	before := "\n],"
	if !j.begun {
		before = "{\"resources\": [],"
	}
	_, err = fmt.Fprintf(j.w, "%s\n\"summary\": %s}\n", before, text)
	return err
}

// yamlFormat prints the same object in YAML, after the last result.
type yamlFormat struct {
	jsonFormat
	text *bytes.Buffer
	w    io.Writer
}

func newYAMLFormat(w io.Writer) *yamlFormat {
	text := new(bytes.Buffer)
	return &yamlFormat{jsonFormat: jsonFormat{w: text}, text: text, w: w}
}

func (y *yamlFormat) end(c validate.Counts) error {
	if err := y.jsonFormat.end(c); err != nil {
		return err
	}
	text, err := manifest.JSONToYAML(y.text.Bytes())
	if err != nil {
		return err
	}
	_, err = y.w.Write(text)
	return err
}
