package xpkg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A decoded is an object and how package.yaml has it.
type decoded struct {
	Object
	doc  manifest.Document
	data map[string]any
	yaml []byte
}

// documentEnd is a line that ends a YAML document (YAML 1.1, section 4.3.3).
var documentEnd = regexp.MustCompile(`(?m)^\.\.\.[ \t\r]*(#.*)?$`)

// withoutEnd returns doc up to its document end line, if it has one, with no
// text if nothing but comments is left. Content that follows, which YAML
// readers pass over in silence, is an error.
func withoutEnd(doc manifest.Document) (manifest.Document, error) {
	if at := documentEnd.FindIndex(doc.Text); at != nil {
		if rest := doc.Text[at[1]:]; !blank(rest) {
			line := doc.Line + bytes.Count(doc.Text[:at[1]], []byte("\n")) + 1
			return doc, fault(doc, line, errors.New(`content after the end of a document ("...") would be lost`))
		}
		doc.Text = doc.Text[:at[0]]
	}
	if blank(doc.Text) {
		doc.Text = nil
	}
	return doc, nil
}

// blank reports whether text holds only blanks and comments.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

func fault(doc manifest.Document, line int, err error) error {
	return &manifest.Error{Path: doc.Path, Line: line, Err: err}
}

// firstLine returns the line of the file on which the document's content begins.
func firstLine(doc manifest.Document) int {
	line := doc.Line
	for l := range bytes.Lines(doc.Text) {
		if !blank(l) {
			break
		}
		line++
	}
	return line
}

// decode turns a document into an object of its Go type and writes it again,
// which is how package.yaml is made.
func decode(doc manifest.Document) (decoded, error) {
	d := decoded{doc: doc}
	in, err := toJSON(doc)
	if err != nil {
		return d, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(in, &d.data); err != nil {
		_, err := doc.Object()
		return d, err
	}
	if d.Object, err = identify(doc, d.data); err != nil {
		return d, err
	}
	k, ok := kinds[typeMeta{d.APIVersion, d.Kind}]
	if !ok {
		err := fault(doc, d.Line, fmt.Errorf("kind %s of %s cannot be in a package", d.Kind, d.APIVersion))
		return d, hint.Wrap(err, "keep the package's files in a directory of their own, or leave others out with --ignore")
	}
	obj := k.new()
	unknown, err := kjson.UnmarshalStrict(in, obj)
	if err != nil {
		return d, d.typeFault(err)
	}
	out, err := json.Marshal(obj)
	if err != nil {
		return d, fault(doc, d.Line, fmt.Errorf("encoding it: %w", err))
	}
	if err := d.checkLost(unknown, out); err != nil {
		return d, err
	}
	d.yaml, err = yaml.JSONToYAML(out)
	return d, err
}

// keysOnly matches the beginning of a document with a key at the start of a
// line, after which YAML readers take nothing but more of them.
var keysOnly = regexp.MustCompile(`^(?:[ \t\r]*(?:#.*)?\n)*[A-Za-z0-9"']`)

// toJSON refuses keys that occur twice and a second object, which YAML readers
// pass over in silence after one in flow style, an indented one or a directive.
func toJSON(doc manifest.Document) ([]byte, error) {
	in, err := doc.StrictJSON()
	if err != nil {
		return nil, err
	}
	if keysOnly.Match(doc.Text) && !bytes.Contains(doc.Text, []byte("\n%")) {
		return in, nil
	}
	dec := yamlv3.NewDecoder(bytes.NewReader(doc.Text))
	var first, second yamlv3.Node
	if dec.Decode(&first) != nil || !errors.Is(dec.Decode(&second), io.EOF) {
		return nil, fault(doc, doc.Line+max(second.Line, 1)-1, errors.New("content after the end of the object would be lost"))
	}
	return in, nil
}

// identify finds out what data is, which begins on the line of its first key.
func identify(doc manifest.Document, data map[string]any) (Object, error) {
	o := Object{Path: doc.Path, Line: firstLine(doc)}
	if data == nil {
		return o, fault(doc, o.Line, errors.New("expected an object, got nothing"))
	}
	o.APIVersion, _ = data["apiVersion"].(string)
	o.Kind, _ = data["kind"].(string)
	if m, ok := data["metadata"].(map[string]any); ok {
		o.Name, _ = m["name"].(string)
	}
	var err error
	switch {
	case o.Kind == "":
		err = fault(doc, o.Line, errors.New("the object has no kind"))
	case o.APIVersion == "":
		err = fault(doc, o.Line, errors.New("the object has no apiVersion"))
	}
	return o, hint.Wrap(err, "keep the package's files in a directory of their own, or leave others out with --ignore")
}

// checkConstraints fails if the metadata has a spec.crossplane without a
// version, which the control plane refuses.
func (d decoded) checkConstraints() error {
	spec, _ := d.data["spec"].(map[string]any)
	c, ok := spec["crossplane"].(map[string]any)
	if !ok {
		return nil
	}
	if v, _ := c["version"].(string); strings.TrimSpace(v) == "" {
		return fault(d.doc, d.doc.Lines().Of("spec.crossplane"), errors.New("spec.crossplane.version is missing"))
	}
	return nil
}
