package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Fault is an error that the API server finds in an object, or an unknown
// field that it drops.
type Fault struct {
	// Field is a path, such as "spec.sizes[0].unit". It is empty for the whole object.
	Field string
	// Unknown is true for an unknown field. Nearest is the known field with the most
	// similar name, or the most similar of the allowed values, or empty.
	Unknown bool
	Nearest string
	// Misplaced is true for an unknown keyword of a schema that is probably a property. Nearest is its
	// place, such as "properties.size", and MisplacedAdvice the next action.
	Misplaced bool
	// Rule is true if the object violates a CEL rule.
	Rule bool
	// Unchecked is true if the fault says that CEL rules were not checked, because
	// of other errors.
	Unchecked bool
	// Value is the value of the field, if known.
	Value any
	// Text is the error message without the path of the field.
	Text string
	// Err is the original error of the API server's library, or nil.
	Err *field.Error
}

// MisplacedAdvice is the next action for a Fault that is Misplaced.
const MisplacedAdvice = "write it under properties"

// String returns the API server's message, which includes the path of the field.
func (f Fault) String() string {
	switch {
	case f.Unknown:
		return fmt.Sprintf("unknown field %q", f.Field)
	case f.Err == nil:
		return strings.TrimPrefix(f.Field+": "+f.Text, ": ")
	case f.Unchecked:
		return f.Err.Detail
	}
	return strings.TrimPrefix(f.Err.Error(), noField+": ")
}

// noField is the text by which the API server's library denotes an error in the
// whole object.
const noField = "<nil>"

func faults(errs field.ErrorList) []Fault {
	found := make([]Fault, 0, len(errs))
	for i, err := range errs {
		// For a fraction where an integer is required, the library returns a second
		// error, which is dropped.
		if i > 0 && err.Field == noField && strings.HasSuffix(err.Detail, " in "+errs[i-1].Field) {
			continue
		}
		found = append(found, Of(err))
	}
	return found
}

// Of converts an error of the API server's validation library to a Fault.
func Of(err *field.Error) Fault {
	return Fault{Field: FieldName(err.Field), Value: err.BadValue, Nearest: nearestValue(err), Text: faultText(err), Err: err}
}

var quotedText = proc.Regexp(`"(?:[^"\\]|\\.)*"`)

// nearestValue returns the allowed value that is most similar to a value that is not
// allowed. The library returns the allowed values only in a text.
func nearestValue(err *field.Error) string {
	value, isText := err.BadValue.(string)
	if err.Type != field.ErrorTypeNotSupported || !isText {
		return ""
	}
	var allowed []string
	for _, quoted := range quotedText().FindAllString(err.Detail, -1) {
		if text, err := strconv.Unquote(quoted); err == nil {
			allowed = append(allowed, text)
		}
	}
	return hint.Nearest(value, allowed)
}

// keyed matches a map key in brackets, such as "[app]", in a field path of the API server.
var keyed = proc.Regexp(`\[([^\]]*[^\]\d][^\]]*)\]`)

// FieldName converts a field path of the API server to the form of Fault.Field.
func FieldName(path string) string {
	if path == noField {
		return ""
	}
	return strings.TrimPrefix(keyed().ReplaceAllString(path, ".$1"), ".")
}

// faultText returns the message of an error without the path of the field.
func faultText(err *field.Error) string {
	_, detail, ok := strings.Cut(err.Detail, " in body ")
	if !ok {
		detail = err.Detail
	}
	switch err.Type {
	case field.ErrorTypeRequired:
		if detail == "" {
			return "is required"
		}
		return "is required: " + detail
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("is %q: %s", err.BadValue, detail)
	case field.ErrorTypeDuplicate:
		return "occurs twice"
	default:
		if detail == "" {
			return err.ErrorBody()
		}
		return detail
	}
}

var misfit = proc.Regexp(`^json: cannot unmarshal (\w+) into Go struct field \w+\.([\w.]+) of type .*$`)

// metadataFault converts an error of decoding metadata to a Fault. The original
// message contains Go types, which it replaces.
func metadataFault(err *field.Error) Fault {
	f := Of(err)
	if m := misfit().FindStringSubmatch(f.Text); m != nil {
		f.Field, f.Text = f.Field+"."+m[2], "cannot be a "+strings.TrimSuffix(m[1], "ean")
		f.Err = &field.Error{Type: err.Type, Field: f.Field, BadValue: field.OmitValueType{}, Detail: f.Text}
	}
	return f
}

// nearestTo returns the known field of the same object whose name is most similar to
// the name of the unknown field. unknown is the path of the unknown field. It returns
// "" if no name is similar.
func nearestTo(unknown string, root *structural.Structural) string {
	at := strings.LastIndexByte(unknown, '.')
	parent, name := unknown[:max(at, 0)], unknown[at+1:]
	n := Node{root, true}
	for _, key := range strings.FieldsFunc(parent, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if n.schema != nil && n.schema.Items != nil {
			n = n.Element()
		} else {
			n, _ = n.Field(key)
		}
	}
	names := n.Named()
	if n.schema != nil && (n.resource || n.schema.XEmbeddedResource) {
		names = append(names, slices.Sorted(maps.Keys(kubernetes().Properties))...)
	}
	slices.Sort(names)
	if near := hint.Nearest(name, names); near != "" || parent != "spec" {
		return near
	}
	// Fields of spec in an XR of Crossplane v1 are in spec.crossplane of v2.
	if in, ok := n.Field("crossplane"); ok && slices.Contains(in.Named(), name) {
		return "spec.crossplane." + name
	}
	return ""
}
