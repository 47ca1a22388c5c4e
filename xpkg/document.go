package xpkg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
)

const hintIgnore = string("keep the package's files in a separate directory, name the directory of examples with " + hint.ExamplesRoot + ", or leave other files out with " + hint.Ignore)

// A decoded is a decoded document: an object of a package, or an example.
type decoded struct {
	Object
	doc manifest.Document
	// data is the object of metadata and examples. Other objects have only its JSON, which
	// needs a fifth of the memory.
	data map[string]any
	json []byte
	// kept is the object in package.yaml, as JSON. It is nil for examples.
	kept []byte
}

// value returns the object, and decodes it again if only its JSON is kept.
func (d decoded) value() (map[string]any, error) {
	if d.json == nil {
		return d.data, nil
	}
	var data map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(d.json, &data)
	return data, err
}

// problem returns err as a Problem with Refused set, and with err's line and hint.
func problem(rule string, doc manifest.Document, err error) Problem {
	p := Problem{Rule: rule, Refused: true, Path: doc.Path, Text: err.Error(), Hint: string(hint.Of(err))}
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		p.Line, p.Text = at.Line, at.Err.Error()
	}
	return p
}

// maxDocument limits the bytes of a YAML document. It is far above the 3 MiB that
// the API server accepts.
const maxDocument = 80 << 20

// documents splits a file into YAML documents. Problems are invalid separators,
// and text after the end of a document, which YAML readers ignore.
func documents(path string, data []byte) ([]manifest.Document, Problems) {
	// package.yaml concatenates the files, so all must be UTF-8, although some YAML
	// readers also accept UTF-16.
	if bytes.HasPrefix(data, []byte("\xfe\xff")) || bytes.HasPrefix(data, []byte("\xff\xfe")) {
		return nil, Problems{{Rule: "syntax", Refused: true, Path: path, Line: 1, Text: "the file is UTF-16, and not UTF-8", Hint: "save it as UTF-8"}}
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		// YAML readers of Kubernetes and the crossplane CLI add a newline, which is then a part of a block scalar.
		data = append(slices.Clip(data), '\n')
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

// cutEnd cuts doc at its end line "..." (YAML 1.1, section 4.3.3). Text after that line is
// reported as a problem. Before the object, the line is a syntax error, which the YAML reader reports.
func cutEnd(doc manifest.Document) (manifest.Document, Problems) {
	at, line := 0, doc.Line
	for l := range bytes.Lines(doc.Text) {
		at, line = at+len(l), line+1
		if rest, ok := bytes.CutPrefix(l, []byte("...")); !ok || !manifest.Blank(rest) {
			continue
		}
		var lost Problems
		if after := (manifest.Document{Line: line, Text: doc.Text[at:]}); !manifest.Blank(after.Text) {
			if manifest.Blank(doc.Text[:at-len(l)]) {
				return doc, nil
			}
			lost = Problems{contentLost(doc, after.FirstLine(), `content after the end of a document ("...") would be lost`)}
		}
		doc.Text = doc.Text[:at-len(l)]
		return doc, lost
	}
	return doc, nil
}

func contentLost(doc manifest.Document, line int, text string) Problem {
	return Problem{Rule: "content-after-end", Path: doc.Path, Line: line, Text: text, Hint: `begin each document with "---"`}
}

// decode decodes a document into its Go type and encodes it again, as JSON for package.yaml. If
// that fails, ok is false, and one of the problems has Refused set.
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
		next := hintIgnore
		near := schema.SimilarKind(d.APIVersion, d.Kind)
		if _, ok := kinds[typeMeta{d.APIVersion, near}]; ok {
			next = "did you mean kind: " + near + "?"
		} else if version := otherVersion(d.APIVersion, d.Kind); version != "" {
			next = "did you mean apiVersion: " + version + "?"
		}
		return d, false, append(found, d.refused("unknown-kind", text, next))
	}
	obj := k.new()
	unknown, err := kjson.UnmarshalStrict(in, obj)
	if err != nil {
		return d, false, append(found, d.wrongType(err, schema.Misfits(in, reflect.TypeOf(obj))))
	}
	d.kept, err = json.Marshal(obj)
	if err == nil {
		err = manifest.CheckJSON(d.kept)
	}
	if err != nil {
		return d, false, append(found, d.refused("syntax", "encoding the object: "+err.Error(), ""))
	}
	found = append(found, d.lostFields(obj, unknown)...)
	if !isMeta(d.Object) {
		d.json, d.data = in, nil
	}
	return d, true, found
}

// decodeSource is decode for files of a package root. It leaves out the objects of xfn.
func decodeSource(doc manifest.Document) (d decoded, ok bool, found Problems) {
	d, ok, found = decode(doc)
	if !ok && d.Kind != "" && strings.HasPrefix(d.APIVersion, "xfn.dev/") {
		return d, false, nil
	}
	return d, ok, found
}

// decodeExample is decode for examples, which keep their text and may be of any kind. A document
// with the value null keeps its text, but has no object.
func decodeExample(doc manifest.Document) (d decoded, ok bool, found Problems) {
	d, in, found := read(doc)
	if in == nil || d.data == nil {
		return d, false, found
	}
	d.doc.JSON = nil // Nothing reads this field, and data has the same values.
	var err error
	if d.Object, err = identify(doc, d.data); d.Kind != "" {
		return d, true, found
	}
	p := problem("object-type", doc, err)
	p.Text = "the example has no kind"
	return d, false, append(found, p)
}

// read returns the object of a document and its JSON. The JSON is nil if the
// document cannot be read.
func read(doc manifest.Document) (d decoded, in []byte, found Problems) {
	d.doc = doc
	if in, found = toJSON(&d.doc); in == nil {
		return d, nil, found
	}
	v, err := manifest.FromJSON(in)
	if data, ok := v.(map[string]any); ok || err == nil && v == nil {
		d.data = data
		return d, in, found
	}
	_, err = doc.Object()
	return d, nil, append(found, problem("object-type", doc, err))
}

// refused returns a problem of the whole object, with Refused set.
func (d decoded) refused(rule, text, hint string) Problem {
	return Problem{Rule: rule, Refused: true, Path: d.Path, Line: d.Line, Text: text, Hint: hint}
}

// identify returns the apiVersion, kind, name and position of an object.
func identify(doc manifest.Document, data map[string]any) (Object, error) {
	o := Object{
		Path: doc.Path, Line: doc.FirstLine(),
		APIVersion: fieldpath.Text(data, "apiVersion"), Kind: fieldpath.Text(data, "kind"), Name: fieldpath.Text(data, "metadata", "name"),
	}
	var err error
	switch {
	case data == nil:
		return o, &manifest.Error{Path: doc.Path, Line: o.Line, Err: errors.New("expected an object, got nothing")}
	case o.Kind == "":
		err = errors.New("the object has no kind")
	case o.APIVersion == "":
		err = errors.New("the object has no apiVersion")
	default:
		return o, nil
	}
	return o, hint.Wrap(&manifest.Error{Path: doc.Path, Line: o.Line, Err: err}, hintIgnore)
}

// lostFields reports fields that are not in d.kept, the JSON of obj: unknown fields, and fields that
// types with their own decoder drop.
func (d decoded) lostFields(obj any, unknown []error) Problems {
	var kept any
	if err := json.Unmarshal(d.kept, &kept); err != nil {
		return Problems{d.refused("syntax", "decoding the object: "+err.Error(), "")}
	}
	paths := map[string]bool{}
	lost("", d.data, kept, paths)
	for _, err := range unknown {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			paths[field.FieldPath()] = true
		}
	}
	f := finder{doc: d.doc}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if schema.LegacyField(d.Kind, path) {
			continue // The rule removedFields reports it.
		}
		f.add("unknown-field", path, "correct the field's name or remove it",
			"kind %s of %s has no field %s, so it would be lost%s", d.Kind, d.APIVersion, path, hint.DidYouMean(schema.NearestField(reflect.TypeOf(obj), path)))
	}
	return f.found
}

// lost adds to paths each field that in has and out lacks, unless its value is empty.
func lost(path string, in, out any, paths map[string]bool) {
	switch in := in.(type) {
	case map[string]any:
		got, ok := out.(map[string]any)
		if !ok {
			return
		}
		for key, from := range in {
			at := strings.TrimPrefix(path+"."+key, ".")
			value, ok := got[key]
			if !ok && !empty(from) {
				paths[at] = true
				continue
			}
			lost(at, from, value, paths)
		}
	case []any:
		got, _ := out.([]any)
		for i := range min(len(in), len(got)) {
			lost(fmt.Sprintf("%s[%d]", path, i), in[i], got[i], paths)
		}
	}
}

// empty reports whether v is a zero value or has only empty values.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, value := range v {
			if !empty(value) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	default:
		return reflect.ValueOf(v).IsZero()
	}
}

// wrongType describes a value of another type than its field. It names the types of YAML
// instead of the types of Go. misfits has the fields with their indexes of lists.
func (d decoded) wrongType(err error, misfits []schema.Fault) Problem {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return d.refused("wrong-type", strings.TrimPrefix(err.Error(), "json: "), "")
	}
	// t.Field also names embedded Go structs, which YAML does not have.
	parts := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool {
		return p != "" && unicode.IsUpper(rune(p[0]))
	})
	path := strings.Join(parts, ".")
	if len(misfits) > 0 {
		path = misfits[0].Field
	}
	want := t.Type
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	value, _, _ := strings.Cut(t.Value, " ")
	p := d.refused("wrong-type", fmt.Sprintf("%s: expected %s, got %s", path, article(want.Kind().String()), article(value)), "")
	lines := d.doc.Lines()
	p.Line = lines.Of(path)
	if want.Kind() == reflect.String {
		p.Hint = string(lines.Boolean(path))
	}
	return p
}

// article returns the YAML name of a Go or JSON type, with an article.
func article(kind string) string {
	switch kind {
	case "object", "struct", "map":
		return "an object"
	case "array", "slice":
		return "a list"
	case "bool":
		return "a boolean"
	case "string":
		return "a string"
	default:
		return "a number"
	}
}
