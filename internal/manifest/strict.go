package manifest

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A DecodeFault is an error in one field of a decoded value.
type DecodeFault struct {
	// Path has the keys of objects, and the indexes of lists as "[0]".
	Path []string
	// Text is the message without the path.
	Text string
	// Unknown is true for a field that the struct does not have.
	Unknown bool
	// Decoded is true for a value of another type that was decoded anyway.
	Decoded bool
}

// Field returns the path, such as "cases[0].expect".
func (f DecodeFault) Field() string { return JoinPath(f.Path) }

// Error returns the field and the text.
func (f DecodeFault) Error() string {
	if len(f.Path) == 0 {
		return f.Text
	}
	return f.Field() + ": " + f.Text
}

// JoinPath joins the segments of a path with dots: "cases[0].expect".
func JoinPath(path []string) string {
	var b strings.Builder
	for _, p := range path {
		if b.Len() > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// DecodeStrict decodes a value of JSON types into the struct that into points
// to. It returns all errors, sorted by key. Fields of type any or
// map[string]any share their maps and lists with value.
func DecodeStrict(value, into any) []DecodeFault {
	d := decoder{}
	d.value(value, reflect.ValueOf(into).Elem(), nil)
	return d.faults
}

// DecodeLenient is DecodeStrict for files that other tools read with sigs.k8s.io/yaml. As there, a
// null is the zero value, and a string can be written as a number or a boolean. The fault of such a
// string is Decoded.
func DecodeLenient(value, into any) []DecodeFault {
	d := decoder{lenient: true}
	d.value(value, reflect.ValueOf(into).Elem(), nil)
	return d.faults
}

type decoder struct {
	faults  []DecodeFault
	lenient bool
}

func (d *decoder) fault(path []string, format string, args ...any) {
	d.faults = append(d.faults, DecodeFault{Path: slices.Clone(path), Text: fmt.Sprintf(format, args...)})
}

// A Value is any value. A nil *Value is a missing value, unlike a null.
type Value struct{ Any any }

// JSONSchema returns the empty schema, which allows any value.
func (Value) JSONSchema() map[string]any { return map[string]any{} }

func (d *decoder) value(v any, into reflect.Value, path []string) {
	if d.lenient && v == nil && into.Type() != reflect.TypeFor[*Value]() {
		return
	}
	if into.Kind() == reflect.Pointer {
		if v == nil && into.Type() != reflect.TypeFor[*Value]() {
			return
		}
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch own := into.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		d.text(v, own, path)
		return
	case *Value:
		own.Any = v
		return
	}
	switch into.Kind() {
	case reflect.Interface:
		if v != nil {
			into.Set(reflect.ValueOf(v))
		}
	case reflect.Struct:
		d.object(v, into, path)
	case reflect.Map:
		d.table(v, into, path)
	case reflect.Slice:
		d.list(v, into, path)
	default:
		d.scalar(v, into, path)
	}
}

func (d *decoder) text(v any, into encoding.TextUnmarshaler, path []string) {
	switch v.(type) {
	case nil, map[string]any, []any:
		d.fault(path, "expected a string, got %s", DescribeValue(v))
		return
	}
	if err := into.UnmarshalText([]byte(fmt.Sprint(v))); err != nil {
		d.fault(path, "%v", err)
	}
}

func (d *decoder) scalar(v any, into reflect.Value, path []string) {
	want := "a whole number"
	switch kind := into.Kind(); kind {
	case reflect.String:
		want = "a string"
		if s, ok := v.(string); ok {
			into.SetString(s)
			return
		}
	case reflect.Bool:
		want = "true or false"
		if b, ok := v.(bool); ok {
			into.SetBool(b)
			return
		}
	case reflect.Int:
		if n, ok := whole(v); ok {
			into.SetInt(n)
			return
		}
	default:
		panic("strict: there are no values for " + kind.String())
	}
	got := DescribeValue(v)
	if n, ok := v.(float64); ok {
		got = fmt.Sprint(n)
	}
	text := textOf(v)
	isText := into.Kind() == reflect.String && text != ""
	if isText && d.lenient {
		into.SetString(text)
		got += fmt.Sprintf(", which is read as %q", text)
	}
	if isText {
		got += ": put it in quotes"
	}
	d.fault(path, "expected %s, got %s", want, got)
	d.faults[len(d.faults)-1].Decoded = isText && d.lenient
}

// textOf returns the string that sigs.k8s.io/yaml makes of a number or a boolean, or "".
func textOf(v any) string {
	switch v := v.(type) {
	case bool, int64:
		return fmt.Sprint(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// whole returns a number as an int64, and whether it is a whole number.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

func (d *decoder) list(v any, into reflect.Value, path []string) {
	l, ok := v.([]any)
	if !ok {
		d.fault(path, "expected a list, got %s", DescribeValue(v))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(l), len(l)))
	for i, e := range l {
		d.value(e, into.Index(i), append(path, "["+strconv.Itoa(i)+"]"))
	}
}

func (d *decoder) table(v any, into reflect.Value, path []string) {
	m, ok := v.(map[string]any)
	switch {
	case !ok && into.Type().Elem().Kind() == reflect.Int:
		d.fault(path, "expected whole numbers by name, as in {name: 1}, got %s", DescribeValue(v))
		return
	case !ok:
		d.fault(path, "expected an object, got %s", DescribeValue(v))
		return
	}
	if into.Type() == reflect.TypeFor[map[string]any]() {
		into.Set(reflect.ValueOf(m))
		return
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(m)))
	for _, key := range Keys(m) {
		e := reflect.New(into.Type().Elem()).Elem()
		d.value(m[key], e, append(path, key))
		into.SetMapIndex(reflect.ValueOf(key), e)
	}
}

func (d *decoder) object(v any, into reflect.Value, path []string) {
	fields := fieldsOf(into.Type())
	m, ok := v.(map[string]any)
	for _, f := range fields {
		if v == nil && f.short && len(f.enum) > 0 {
			d.fault(path, "expected %s or an object, got nothing", strings.Join(f.enum, ", "))
			return
		}
		if !ok && f.short || ok && f.isWhole(m) {
			d.field(f, v, into, path)
			return
		}
	}
	if !ok {
		d.fault(path, "expected an object, got %s", DescribeValue(v))
		return
	}
	for _, key := range Keys(m) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		if i < 0 {
			d.unknown(fields, key, path)
			continue
		}
		d.field(fields[i], m[key], into, append(path, key))
	}
	for _, f := range fields {
		if _, ok := m[f.name]; f.required && !ok {
			d.fault(path, "%s is missing", f.name)
		}
	}
}

func (d *decoder) unknown(fields []field, key string, path []string) {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.name != "" {
			names = append(names, f.name)
		}
	}
	text := "there is no such field"
	if near := hint.Nearest(key, names); near != "" {
		text += ": is it " + near + "?"
	} else {
		text += ", only " + strings.Join(names, ", ")
	}
	d.fault(append(path, key), "%s", text)
	d.faults[len(d.faults)-1].Unknown = true
}

func (d *decoder) field(f field, v any, of reflect.Value, path []string) {
	into := of.Field(f.index)
	if isContainer := slices.Contains([]reflect.Kind{reflect.Struct, reflect.Map, reflect.Slice}, into.Kind()); v == nil && isContainer {
		return // a YAML key without a value leaves the field unset
	}
	if _, isList := v.([]any); f.single && v != nil && !isList {
		into.Set(reflect.MakeSlice(into.Type(), 1, 1))
		into = into.Index(0)
	}
	d.value(v, into, path)
	if s, ok := v.(string); ok && into.Kind() == reflect.String && len(f.enum) > 0 && !slices.Contains(f.enum, s) {
		d.fault(path, "expected %s, got %q", strings.Join(f.enum, " or "), s)
	}
	if f.min != nil {
		d.atLeast(*f.min, v, path)
	}
}

// atLeast checks the least value of a number, or of the numbers in an object.
func (d *decoder) atLeast(least int64, v any, path []string) {
	numbers, _ := v.(map[string]any)
	for _, key := range Keys(numbers) {
		d.atLeast(least, numbers[key], append(path, key))
	}
	if n, ok := whole(v); ok && n < least {
		d.fault(path, "expected at least %d, got %d", least, n)
	}
}

// DescribeValue returns the type of a value with an article, such as "a list".
func DescribeValue(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// kubectlTable matches the first line of what kubectl get prints without an output format.
var kubectlTable = proc.Regexp(`^(NAMESPACE\s+)?NAME\s+[A-Z]`)

// unspacedKey matches a key whose colon precedes its value without a space. Its groups are both.
var unspacedKey = proc.Regexp(`^([A-Za-z][\w./-]*):([^\s/:][^\s:]*)(\s|$)`)

// MeantObject returns the hint for a value in place of an object: a table of kubectl, or text in
// which the space after a colon is missing. It returns "" for other values.
func MeantObject(v any) string {
	text, _ := v.(string)
	if kubectlTable().MatchString(text) {
		return "this is a table of kubectl get: write the file with kubectl get KIND -o yaml"
	}
	if m := unspacedKey().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("a space is missing after a colon: write %s: %s", m[1], m[2])
	}
	return ""
}
