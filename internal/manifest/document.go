package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	yamlv4 "go.yaml.in/yaml/v4"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Document is the text of one YAML document and its position.
type Document struct {
	// Path is the file's path as the user wrote it, or "-" for standard input.
	Path string
	// Line is the line of the file, from 1, on which Text begins.
	Line int
	// Text is the document without its leading "---" line.
	Text []byte
	// JSON is the document as JSON if a caller has read it already, or nil. Text has no duplicate
	// keys then. It saves a YAML parser.
	JSON []byte
}

// Encode returns a document with the JSON of obj, which must have the types of decoded JSON. Reading
// the document needs no YAML parser.
func Encode(path string, line int, obj map[string]any) (Document, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		err = fmt.Errorf("encoding an object: %w", err)
	}
	doc := Document{Path: path, Line: line, Text: text}
	if !bytes.ContainsFunc(text, unlikeInYAML) {
		doc.JSON = text
	}
	return doc, err
}

// An Error is an error at a line of a file.
type Error struct {
	// Path and Line have the meaning of the fields of Document. Line is 0 if it is unknown.
	Path string
	Line int
	// Err is the cause.
	Err error
}

// Error returns "path:line: cause".
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v", Position(e.Path, e.Line), e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Position returns "path:line", for messages about the document.
func (d Document) Position() string { return Position(d.Path, d.Line) }

// PositionOf returns "path:line" of a field, whose path has the form that Lines.Of reads.
func (d Document) PositionOf(field string) string { return Position(d.Path, d.Lines().Of(field)) }

// ErrorOf returns err as an *Error at the line of a field, whose path has the form that Lines.Of reads.
func (d Document) ErrorOf(field string, err error) error {
	return &Error{d.Path, d.Lines().Of(field), err}
}

// Key returns a text that differs for documents with other positions or contents.
func (d Document) Key() string { return d.Position() + "\x00" + string(d.Text) }

// Value decodes the document into maps, lists and scalars. Whole numbers that
// fit an int64 become int64, all others float64. A syntax error is an *Error.
func (d Document) Value() (any, error) {
	if v, ok := d.plain(yamlv2.Unmarshal); ok {
		return v, nil
	}
	j, err := d.json(false)
	if err != nil {
		return nil, err
	}
	v, err := FromJSON(j)
	if err != nil {
		return nil, d.fault(err)
	}
	return v, nil
}

// StrictJSON returns the document as JSON. A duplicate key is an *Error. A key after a merge key (<<) may
// replace a merged value.
func (d Document) StrictJSON() ([]byte, error) {
	return d.json(true)
}

// WithJSON returns d with its JSON, unless it is invalid or has a duplicate key. Reading it again
// then needs no YAML parser.
func (d Document) WithJSON() Document {
	if j, err := d.json(true); err == nil {
		d.JSON = j
	}
	return d
}

func (d Document) json(strict bool) ([]byte, error) {
	if d.JSON != nil {
		return d.JSON, nil
	}
	if what, next := foreignFormat(d.Text); what != "" {
		return nil, &Error{d.Path, d.Line, hint.Wrap(errors.New(what), next)}
	}
	j, err := toJSON(d.Text, strict)
	if err != nil && strict {
		if duplicate, merges := duplicateKey(d.Text); merges && duplicate == nil {
			j, err = toJSON(d.Text, false)
		} else if merges {
			err = duplicate
		}
	}
	if err != nil {
		return nil, d.fault(err)
	}
	return j, nil
}

// Object is like Value, but a document that is not an object is an *Error.
func (d Document) Object() (map[string]any, error) {
	v, err := d.Value()
	if err != nil {
		return nil, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{d.Path, d.Line, hint.Wrap(fmt.Errorf("expected an object, got %s", DescribeValue(v)), MeantObject(v))}
	}
	return obj, nil
}

// CheckType returns an *Error if apiVersion or kind of obj, the object in d, is not a string.
func (d Document) CheckType(obj map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if _, isText := obj[field].(string); !isText && obj[field] != nil {
			return d.ErrorOf(field, fmt.Errorf("%s must be a string, not %s", field, DescribeValue(obj[field])))
		}
	}
	return nil
}

// StrictObject is like Object. For an object with a duplicate key, whose last value is used,
// it also returns the error for the key as duplicate.
func (d Document) StrictObject() (obj map[string]any, duplicate, err error) {
	v, _ := d.plain(yamlv2.UnmarshalStrict)
	if obj, ok := v.(map[string]any); ok {
		return obj, nil, nil
	}
	j, duplicate := d.StrictJSON()
	if duplicate == nil {
		v, _ := FromJSON(j)
		if obj, ok := v.(map[string]any); ok {
			return obj, nil, nil
		}
	}
	obj, err = d.Object()
	return obj, duplicate, err
}

// Decode decodes the document into a struct by its json tags and ignores
// unknown fields. A value of another type is an *Error.
func (d Document) Decode(into any) error {
	if d.JSON != nil && json.Unmarshal(d.JSON, into) == nil {
		return nil // The YAML library also accepts numbers and booleans where strings are expected.
	}
	if err := yaml.Unmarshal(d.Text, into); err != nil {
		return d.fault(err)
	}
	return nil
}

// misfit matches encoding/json's error for a value of the wrong type. Its
// groups are the type of the value in the document, and the path of the field.
var misfit = proc.Regexp(`^cannot unmarshal (\w+)(?: [^ ]+)? into Go (?:struct field \w+\.([\w.]+)|value()) of type `)

// articles maps JSON types to their names in messages, with an article. It omits types that
// have the same name in messages and the article "a".
var articles = map[string]string{"array": "a list", "object": "an object", "bool": "a boolean"}

var yamlLine = proc.Regexp(`^line (\d+): `)

// fault converts an error of the YAML library to an *Error. The library counts lines from
// the start of the document, but an *Error counts them from the start of the file.
func (d Document) fault(err error) error {
	line, text := cutLine(err.Error())
	explained := errors.New(text)
	switch {
	case !utf8.Valid(d.Text):
		line = 1
		for l := range bytes.Lines(d.Text) {
			if !utf8.Valid(l) {
				break
			}
			line++
		}
		explained = hint.Wrap(fmt.Errorf("the file is not text in UTF-8: %s", text), "convert the file to UTF-8, or name another file")
	case strings.HasPrefix(text, "control characters"):
		line, text = d.control(text)
		explained = errors.New(text)
		if bytes.IndexByte(d.Text, 0) >= 0 {
			explained = hint.Wrap(explained, "convert the file to UTF-8, if it is text: iconv -f UTF-16 -t UTF-8")
		}
	case strings.HasPrefix(text, "cannot decode"):
		line = d.wrongTag(text)
	case misfit().MatchString(text):
		m := misfit().FindStringSubmatch(text)
		field := m[2] + m[3]
		return d.ErrorOf(field, fmt.Errorf("%s cannot be %s", cmp.Or(field, "the document"), cmp.Or(articles[m[1]], "a "+m[1])))
	case strings.Contains(text, "invalid map key"), strings.Contains(text, "unsupported map key"):
		line = d.oddKey()
		explained = hint.Wrap(errors.New("a key must not be an object or a list"), "quote a value that begins with {; a template, such as of Helm, must be rendered before")
	case strings.HasPrefix(text, "unsupported value"):
		n := d.infinite()
		if n == nil {
			break
		}
		line = n.Line
		explained = hint.Wrap(fmt.Errorf("%s is not a number of JSON, which an API server uses", n.Value), "write a finite number; or quote the value, if it is text")
	case strings.HasPrefix(text, "anchor '"), strings.HasPrefix(text, "map merge"):
		// Only yaml/v4 reports the line of these errors.
		if err := yamlv4.Unmarshal(d.Text, new(any)); err != nil {
			line, _ = cutLine(err.Error())
		}
	default:
		line, explained = d.explain(line, text)
	}
	return &Error{d.Path, d.Line + max(line, 1) - 1, explained}
}

// control returns the line of the first character that YAML does not allow, and text with
// the number of the character.
func (d Document) control(text string) (int, string) {
	for i, r := range string(d.Text) {
		allowed := strings.ContainsRune("\t\n\r\u0085\uFEFF", r) || !unicode.IsControl(r) && r != 0xFFFE && r != 0xFFFF
		if !allowed {
			return bytes.Count(d.Text[:i], []byte("\n")) + 1, fmt.Sprintf("%s: the line has U+%04X", text, r)
		}
	}
	return 1, text
}

// wrongTag returns the first line with the tag and the value of an error such as "cannot
// decode !!str `abc` as a !!int", or 0.
func (d Document) wrongTag(text string) int {
	_, value, _ := strings.Cut(text, "`")
	value, tag, _ := strings.Cut(value, "` as a ")
	line := 0
	for l := range bytes.Lines(d.Text) {
		line++
		if bytes.Contains(l, []byte(tag)) && bytes.Contains(l, []byte(strings.TrimSuffix(value, "..."))) {
			return line
		}
	}
	return 0
}

// oddKey returns the line of the first object key that is not a scalar, or 0. YAML parsers
// read the template "{{ .name }}" as such a key.
func (d Document) oddKey() int {
	for node, isKey := range nodesIn(parseNodes(d.Text)) {
		if isKey && node.Kind != yamlv3.ScalarNode && node.Kind != yamlv3.AliasNode {
			return node.Line
		}
	}
	return 0
}

// infinite returns the first value that is infinite or not a number, or nil.
func (d Document) infinite() *yamlv3.Node {
	for node := range nodesIn(parseNodes(d.Text)) {
		text := strings.ToLower(strings.TrimLeft(node.Value, "+-"))
		if node.Kind == yamlv3.ScalarNode && node.Style == 0 && (text == ".inf" || text == ".nan") {
			return node
		}
	}
	return nil
}

// cutLine splits the text of a YAML error into a line number and the message without the
// library's prefixes. The line number is 0 if the text has none.
func cutLine(text string) (line int, rest string) {
	for _, noise := range []string{
		"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ",
		"yaml: ", "unmarshal errors:\n  ", "json: ",
	} {
		text = strings.TrimPrefix(text, noise)
	}
	text, _, _ = strings.Cut(text, "\n")
	m := yamlLine().FindStringSubmatch(text)
	if m == nil {
		return 0, text
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, text
	}
	return line, text[len(m[0]):]
}

// FirstLine returns the line in the file of the document's first content, after
// blank lines and comments.
func (d Document) FirstLine() int {
	line := d.Line
	for l := range bytes.Lines(d.Text) {
		if !Blank(l) {
			break
		}
		line++
	}
	return line
}

// Blank reports whether text consists only of white space and comments.
func Blank(text []byte) bool {
	for l := range bytes.Lines(text) {
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] != '#' {
			return false
		}
	}
	return true
}

func clip(b []byte) string {
	const most = 40
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

// At returns a place as the end of a sentence, or "" for no place.
func At(place string) string {
	if place == "" {
		return ""
	}
	return " (at " + place + ")"
}

// Position returns "path:line" without control characters, or the path if line is 0.
func Position(path string, line int) string {
	if path == Stdin {
		path = "standard input"
	}
	if strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path)
	}
	if line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line)
}
