package xpkg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

const hintIgnore = string("keep the package's files in a directory of their own, name that of examples with " + hint.ExamplesRoot + ", or leave others out with " + hint.Ignore)

// A decoded is an object of a package, or an example, and its document.
type decoded struct {
	Object
	doc  manifest.Document
	data map[string]any
	// yaml is how package.yaml has the object. Examples have none.
	yaml []byte
}

// problem returns what is wrong with a document, as far as it is an error of
// this module's: with the place and the hint that err has.
func problem(rule string, doc manifest.Document, err error) Problem {
	p := Problem{Rule: rule, Refused: true, Path: doc.Path, Text: err.Error(), Hint: string(hint.Of(err))}
	var at *manifest.Error
	if errors.As(err, &at) {
		p.Line, p.Text = at.Line, at.Err.Error()
	}
	return p
}

// maxDocument is the most bytes of one document. No control plane can store an
// object that comes near: Kubernetes' API server takes 3 MiB.
const maxDocument = 80 << 20

// documents returns the documents of a file up to their ends, and what is wrong
// with their number: content after an end, which YAML readers pass over in
// silence, and lines that are no separators.
func documents(path string, data []byte) ([]manifest.Document, Problems) {
	if isUTF16(data) {
		return nil, Problems{{Rule: "syntax", Refused: true, Path: path, Line: 1, Text: "the file is UTF-16, and not UTF-8", Hint: "save it as UTF-8"}}
	}
	docs, err := manifest.Split(path, data)
	if err != nil {
		return nil, Problems{problem("syntax", manifest.Document{Path: path}, err)}
	}
	var found Problems
	whole := docs[:0]
	for _, doc := range docs {
		doc, lost := cutEnd(doc)
		found = append(found, lost...)
		switch {
		case manifest.Blank(doc.Text):
		case len(doc.Text) > maxDocument:
			text := fmt.Sprintf("the document has more than %d MiB", maxDocument>>20)
			found = append(found, Problem{Rule: "size", Refused: true, Path: doc.Path, Line: doc.FirstLine(), Text: text})
		default:
			whole = append(whole, doc)
		}
	}
	return whole, found
}

// isUTF16 reports whether data begins with the byte order mark of UTF-16, which
// some YAML readers take and package.yaml, of many files, cannot.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xfe\xff")) || bytes.HasPrefix(data, []byte("\xff\xfe"))
}

// documentEnd returns where the line that ends a YAML document begins, and where
// the next one does (YAML 1.1, section 4.3.3), or -1.
func documentEnd(text []byte) (from, to int) {
	for at := 0; at < len(text); at = to {
		from, to = at, len(text)
		if !bytes.HasPrefix(text[at:], []byte("...")) {
			next := bytes.Index(text[at:], []byte("\n..."))
			if next < 0 {
				return -1, -1
			}
			from = at + next + 1
		}
		if n := bytes.IndexByte(text[from:], '\n'); n >= 0 {
			to = from + n + 1
		}
		if manifest.Blank(text[from+3 : to]) {
			return from, to
		}
	}
	return -1, -1
}

// cutEnd returns doc up to its document end line, if it has one.
func cutEnd(doc manifest.Document) (manifest.Document, Problems) {
	from, to := documentEnd(doc.Text)
	if from < 0 {
		return doc, nil
	}
	var lost Problems
	if rest := doc.Text[to:]; !manifest.Blank(rest) {
		after := manifest.Document{Line: doc.Line + bytes.Count(doc.Text[:to], []byte("\n")), Text: rest}
		lost = Problems{contentLost(doc, after.FirstLine(), `content after the end of a document ("...") would be lost`)}
	}
	doc.Text = doc.Text[:from]
	return doc, lost
}

func contentLost(doc manifest.Document, line int, text string) Problem {
	return Problem{Rule: "content-after-end", Path: doc.Path, Line: line, Text: text, Hint: `begin each document with "---"`}
}

// decode turns a document into an object of its Go type and writes it again,
// which is how package.yaml is made. It returns false if that fails: one of the
// problems is refused then.
func decode(doc manifest.Document) (d decoded, ok bool, found Problems) {
	d, in, found := read(doc)
	if in == nil {
		return d, false, found
	}
	var err error
	if d.Object, err = identify(doc, d.data); err != nil {
		return d, false, append(found, problem("object-type", doc, err))
	}
	k, ok := kinds[typeMeta{d.APIVersion, d.Kind}]
	if !ok {
		text := fmt.Sprintf("kind %s of %s cannot be in a package", d.Kind, d.APIVersion)
		return d, false, append(found, d.refused("unknown-kind", text, hintIgnore))
	}
	obj := k.new()
	unknown, err := kjson.UnmarshalStrict(in, obj)
	if err != nil {
		return d, false, append(found, d.wrongType(err))
	}
	out, err := json.Marshal(obj)
	if err == nil {
		d.yaml, err = manifest.JSONToYAML(out)
	}
	if err != nil {
		return d, false, append(found, d.refused("syntax", "encoding it: "+err.Error(), ""))
	}
	return d, true, append(found, d.lostFields(unknown, out)...)
}

// decodeExample is decode for examples, which may hold an object of any kind,
// and stay as they are.
func decodeExample(doc manifest.Document) (d decoded, ok bool, found Problems) {
	d, in, found := read(doc)
	if in == nil {
		return d, false, found
	}
	var err error
	if d.Object, err = identify(doc, d.data); d.Kind != "" {
		return d, true, found
	}
	p := problem("object-type", doc, err)
	if d.data != nil {
		p.Text = "the example has no kind"
	}
	return d, false, append(found, p)
}

// read returns the object of a document, and the same as JSON, or nil if it has
// none.
func read(doc manifest.Document) (d decoded, in []byte, found Problems) {
	d.doc = doc
	if in, found = toJSON(doc); in == nil {
		return d, nil, found
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(in, &d.data); err != nil {
		_, err := doc.Object()
		return d, nil, append(found, problem("object-type", doc, err))
	}
	return d, in, found
}

// refused is a problem with all of an object.
func (d decoded) refused(rule, text, hint string) Problem {
	return Problem{Rule: rule, Refused: true, Path: d.Path, Line: d.Line, Text: text, Hint: hint}
}

// toJSON returns the first object of a document as the control plane reads it,
// or nil if it is not YAML, and what YAML readers pass over: all but the last
// of keys that occur twice, and further objects.
func toJSON(doc manifest.Document) ([]byte, Problems) {
	in, strict := yaml.YAMLToJSONStrict(doc.Text)
	var found Problems
	if strict != nil {
		var err error
		if in, err = yaml.YAMLToJSON(doc.Text); err != nil {
			_, err = doc.StrictJSON()
			return nil, Problems{problem("syntax", doc, err)}
		}
		found = keysTwice(doc, strict)
	}
	if line := secondObject(doc); line > 0 {
		found = append(found, contentLost(doc, line, "content after the end of the object would be lost"))
	}
	return in, found
}

var keyTwice = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *line (\d+): (key .*) in map$`) })

// keysTwice returns the problems that a strict YAML reader has.
func keysTwice(doc manifest.Document, strict error) Problems {
	var found Problems
	for _, m := range keyTwice().FindAllStringSubmatch(strict.Error(), -1) {
		line, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		found = append(found, Problem{
			Rule: "duplicate-key", Path: doc.Path, Line: doc.Line + line - 1,
			Text: m[2] + ", so the first would be lost", Hint: "remove one of the two",
		})
	}
	if found == nil {
		found = Problems{problem("duplicate-key", doc, strict)}
		found[0].Refused = false
	}
	return found
}

// keysOnly matches the beginning of a document with a key at the start of a
// line, after which YAML readers take nothing but more of them.
var keysOnly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[ \t\r]*(?:#.*)?\n)*[A-Za-z0-9"']`) })

// secondObject returns the line of what follows the first object, which there
// may be after one in flow style, an indented one or a directive, or 0.
func secondObject(doc manifest.Document) int {
	if keysOnly().Match(doc.Text) && !bytes.Contains(doc.Text, []byte("\n%")) {
		return 0
	}
	dec := yamlv3.NewDecoder(bytes.NewReader(doc.Text))
	var first, second yamlv3.Node
	if dec.Decode(&first) == nil && errors.Is(dec.Decode(&second), io.EOF) {
		return 0
	}
	return doc.Line + max(second.Line, 1) - 1
}

// identify finds out what data is, which begins on the line of its first key.
func identify(doc manifest.Document, data map[string]any) (Object, error) {
	o := Object{Path: doc.Path, Line: doc.FirstLine()}
	o.APIVersion, _ = data["apiVersion"].(string)
	o.Kind, _ = data["kind"].(string)
	if m, ok := data["metadata"].(map[string]any); ok {
		o.Name, _ = m["name"].(string)
	}
	missing := ""
	switch {
	case data == nil:
		return o, &manifest.Error{Path: doc.Path, Line: o.Line, Err: errors.New("expected an object, got nothing")}
	case o.Kind == "":
		missing = "kind"
	case o.APIVersion == "":
		missing = "apiVersion"
	default:
		return o, nil
	}
	err := &manifest.Error{Path: doc.Path, Line: o.Line, Err: errors.New("the object has no " + missing)}
	return o, hint.Wrap(err, hintIgnore)
}
