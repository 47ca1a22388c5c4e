package validate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

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
