package xpkg

import (
	"bytes"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// toJSON returns the first object of a document as the control plane reads it, or nil. It
// reports duplicate keys and further objects, which YAML readers ignore. Without them, it sets doc.JSON.
func toJSON(doc *manifest.Document) ([]byte, Problems) {
	in, strict := doc.StrictJSON()
	var found Problems
	if strict != nil {
		var err error
		if in, err = yaml.YAMLToJSON(doc.Text); err != nil {
			return nil, Problems{problem("syntax", *doc, strict)}
		}
		_, err = yaml.YAMLToJSONStrict(doc.Text)
		found = keysTwice(*doc, err)
	}
	for _, at := range doc.BooleanKeys() {
		p := problem("boolean-key", *doc, at)
		p.Refused, p.Warning = false, true
		found = append(found, p)
	}
	if line := doc.AfterEnd(); line > 0 {
		found = append(found, contentLost(*doc, line, "content after the end of the object would be lost"))
	}
	if strict == nil {
		doc.JSON = in
	}
	return in, found
}

var keyTwice = proc.Regexp(`(?m)^ *line (\d+): (key .*) in map$`)

// keysTwice returns a problem for each duplicate key that strict, the error of
// a strict YAML reader, names.
func keysTwice(doc manifest.Document, strict error) Problems {
	var found Problems
	for _, m := range keyTwice().FindAllStringSubmatch(strict.Error(), -1) {
		line, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		if m[2] == `key "apiVersion" already set` && beginsObject(doc.Text, line) {
			return append(found, Problem{
				Rule: "duplicate-key", Path: doc.Path, Line: doc.Line + line - 1,
				Text: m[2] + ": a second object begins here, so the first would be lost", Hint: "write --- before this line",
			})
		}
		found = append(found, Problem{
			Rule: "duplicate-key", Path: doc.Path, Line: doc.Line + line - 1,
			Text: m[2] + ", so the first value would be lost", Hint: "remove one of the two",
		})
	}
	if found == nil {
		found = Problems{problem("duplicate-key", doc, strict)}
		found[0].Refused = false
	}
	return found
}

// beginsObject reports whether a line of a document, counted from 1, and the next one are the first two
// of an object: an apiVersion and a kind in the first column.
func beginsObject(text []byte, line int) bool {
	lines := bytes.Split(text, []byte("\n"))
	return line < len(lines) && bytes.HasPrefix(lines[line-1], []byte("apiVersion:")) && bytes.HasPrefix(lines[line], []byte("kind:"))
}
