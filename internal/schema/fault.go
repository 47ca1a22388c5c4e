package schema

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A Fault is what the API server would refuse of an object, or drop from it.
type Fault struct {
	// Field is as in "spec.sizes[0].unit". It is empty for the whole object.
	Field string
	// Unknown says that the field would be dropped, for no schema has it, and
	// Nearest is the field beside it that may be meant, or empty.
	Unknown bool
	Nearest string
	// Unchecked says that nothing is wrong with a field: for what else is, some
	// rules were not tried.
	Unchecked bool
	// Value is what the field holds, if that is known.
	Value any
	// Text says what is wrong with the field.
	Text string
	// Err is what the API server says. It is nil for Unknown.
	Err *field.Error
}

// String returns the API server's own words, which name the field where it is
// not the whole object.
func (f Fault) String() string {
	if f.Err == nil {
		return fmt.Sprintf("unknown field %q", f.Field)
	}
	if f.Unchecked {
		return f.Err.Detail
	}
	return strings.TrimPrefix(f.Err.Error(), noField+": ")
}

// noField is how the library names the whole object.
const noField = "<nil>"

func faults(errs field.ErrorList) []Fault {
	found := make([]Fault, 0, len(errs))
	for i, err := range errs {
		// The error about a fraction, which has a type error besides.
		if i > 0 && err.Field == noField && strings.HasSuffix(err.Detail, " in "+errs[i-1].Field) {
			continue
		}
		found = append(found, Of(err))
	}
	return found
}

// Of returns the fault that an error of the API server's library is.
func Of(err *field.Error) Fault {
	return Fault{Field: FieldName(err.Field), Value: err.BadValue, Text: faultText(err), Err: err}
}

// keyed is a key of a map, as field paths have it.
var keyed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*[^\]\d][^\]]*)\]`) })

// FieldName returns a path of the API server in the form of Fault's fields.
func FieldName(path string) string {
	if path == noField {
		return ""
	}
	return strings.TrimPrefix(keyed().ReplaceAllString(path, ".$1"), ".")
}

// faultText returns what an error says besides the field's name.
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

var misfit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^json: cannot unmarshal (\w+) into Go struct field \w+\.([\w.]+) of type .*$`)
})

// inWords says of metadata which field is wrong, where Go's decoder names types.
func inWords(err *field.Error) Fault {
	f := Of(err)
	if m := misfit().FindStringSubmatch(f.Text); m != nil {
		f.Field, f.Text = f.Field+"."+m[2], "cannot be a "+strings.TrimSuffix(m[1], "ean")
		f.Err = &field.Error{Type: err.Type, Field: f.Field, BadValue: field.OmitValueType{}, Detail: f.Text}
	}
	return f
}
