package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
)

// SplitError returns the field path in an error of this package, and the text that says what
// is wrong with the field, and which value is similar. For other errors, path is "".
func SplitError(err error) (path, text string) {
	e, ok := err.(*field.Error)
	if !ok {
		return "", err.Error()
	}
	text = strings.TrimPrefix(e.ErrorBody(), field.ErrorTypeRequired.String()+": ")
	value, values := choice(text)
	return e.Field, text + hint.DidYouMean(hint.Nearest(value, values))
}

// allowed lists the values of the fields with an enumeration, by the text of the error for
// another value.
var allowed = map[string][]string{
	"unknown patch type":             PatchType("").Enum(),
	"unknown toFieldPathPolicy":      ToPolicy("").Enum(),
	"unknown fromFieldPathPolicy":    FromPolicy("").Enum(),
	"unknown strategy type":          CombineStrategy("").Enum(),
	"unknown connection detail type": ConnectionDetailType("").Enum(),
	"unknown readiness check type":   ReadinessCheckType("").Enum(),
	"unknown transform type":         TransformType("").Enum(),
	"unknown pattern type":           PatternType("").Enum(),
	"unknown math transform type":    MathType("").Enum(),
	"unknown string transform type":  StringType("").Enum(),
	"invalid format":                 ConvertFormat("").Enum(),
	"invalid type":                   ConvertType("").Enum(),

	"math transform type is required":   MathType("").Enum(),
	"string transform type is required": StringType("").Enum(),
}

// choice returns the value in the text of an error of this package, which may be "", and the
// allowed values.
func choice(text string) (value string, values []string) {
	_, invalid, _ := strings.Cut(text, `Invalid value: "`)
	value, _, _ = strings.Cut(invalid, `": `)
	return value, allowed[strings.TrimPrefix(text[strings.LastIndex(text, ": ")+1:], " ")]
}

// Advice returns the hint for the text of an error of this package: the most similar allowed
// value, or all allowed values. It returns "" for other errors.
func Advice(text string) string { return hint.MeantOf(choice(text)) }

// Required returns the API server's error for a missing field.
func Required(path, text string) error { return field.Required(field.NewPath(path), text) }

// requireIf returns Required(path, text) if missing is true, and otherwise nil.
func requireIf(missing bool, path, text string) error {
	if !missing {
		return nil
	}
	return Required(path, text)
}

// Invalid returns the API server's error for a value that is not allowed in the
// field at path. The error quotes a string as Go does, and a value of another type in JSON.
func Invalid[T ~string](path string, value T, text string) error {
	return field.Invalid(field.NewPath(path), value, text)
}

// UnderPath adds path in front of the field path in an error of this package.
// It returns other errors, and nil, unchanged.
func UnderPath(path string, err error) error {
	e, ok := err.(*field.Error)
	if !ok {
		return err
	}
	under := *e
	under.Field = path + "." + e.Field
	return &under
}

// FirstError calls check for each of the n elements of the list at path, and returns the
// first error. The error's field path begins with the path of the element.
func FirstError(path string, n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return UnderPath(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	return nil
}

// SplitTypeError splits a *json.UnmarshalTypeError. path is the field path
// without the indexes of lists. value describes the JSON value of the wrong
// type, such as "array" or "number 1.5".
func SplitTypeError(err error) (path, value string, ok bool) {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return "", "", false
	}
	// t.Field also contains the names of embedded Go structs, which are not JSON fields.
	names := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool { return p != "" && unicode.IsUpper(rune(p[0])) })
	return strings.Join(names, "."), t.Value, true
}
