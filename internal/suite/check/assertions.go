package check

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// assertionTypes are the checks of assertions, by type. The checks of fields are in fieldTypes.
var assertionTypes = map[string]func(*assertion) error{
	"Count":     (*assertion).count,
	"Exists":    (*assertion).exists,
	"NotExists": (*assertion).exists,
	"Diff":      (*assertion).diff,
	"Dyff":      (*assertion).dyff,
}

// fieldTypes are the checks of a field of one resource. They get the object that contains the
// field, and the last key of its path.
var fieldTypes = map[string]func(a *assertion, in map[string]any, key string) error{
	"FieldExists":    (*assertion).fieldExists,
	"FieldNotExists": (*assertion).fieldNotExists,
	"FieldType":      (*assertion).fieldType,
	"FieldValue":     (*assertion).fieldValue,
}

type assertion struct {
	*run
	spec.Assertion
	path []string
	// rendered has the composite resource and the composed resources by Kind/name. Of several
	// resources with one key, it has the last.
	rendered map[string]map[string]any
}

func (r *run) assertions(all []spec.Assertion) {
	rendered := map[string]map[string]any{}
	for _, obj := range append([]map[string]any{r.subject.XR}, r.subject.Composed...) {
		rendered[kindAndName(obj)] = obj
	}
	for i, one := range all {
		a := &assertion{run: r, Assertion: one, path: []string{"expect", "assertions", fmt.Sprintf("[%d]", i)}, rendered: rendered}
		if err := a.check(); err != nil {
			a.failed(err)
		}
	}
}

func (a *assertion) failed(err error) {
	text := err.Error()
	if a.Name != "" {
		text = a.Name + ": " + text
	}
	a.fail(Failure{Path: a.path, Text: text, Hint: hint.Of(err)})
}

func (a *assertion) check() error {
	if check, ok := assertionTypes[a.Type]; ok {
		return check(a)
	}
	check, ok := fieldTypes[a.Type]
	if !ok {
		known := slices.Concat(slices.Sorted(maps.Keys(assertionTypes)), slices.Sorted(maps.Keys(fieldTypes)))
		if near := hint.Nearest(a.Type, known); near != "" {
			return fmt.Errorf("unknown assertion type %q: is it %s?", a.Type, near)
		}
		return fmt.Errorf("unknown assertion type %q, only %s", a.Type, strings.Join(known, ", "))
	}
	if a.Field == "" {
		return fmt.Errorf("type %s needs a field", a.Type)
	}
	keys, err := a.matching()
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("there is no resource %s%s", a.Resource, a.others())
	}
	for _, key := range keys {
		in, last, err := parentOf(a.rendered[key], a.Field)
		if err == nil {
			err = check(a, in, last)
		}
		if err != nil {
			a.failed(fmt.Errorf("%s: %w", key, err))
		}
	}
	return nil
}

// matching returns the sorted keys of the resources that the assertion names.
func (a *assertion) matching() (keys []string, err error) {
	if a.Resource == "" {
		return nil, fmt.Errorf("type %s needs a resource", a.Type)
	}
	pattern := a.Resource
	if !strings.Contains(pattern, "/") {
		pattern += "/*"
	}
	for _, key := range slices.Sorted(maps.Keys(a.rendered)) {
		ok, err := path.Match(pattern, key)
		if err != nil {
			return nil, fmt.Errorf("invalid resource %q: %w", a.Resource, err)
		}
		if ok {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (a *assertion) others() string {
	return ", only " + list(slices.Collect(maps.Keys(a.rendered)))
}

func (a *assertion) count() error {
	value := any(nil)
	if a.Value != nil {
		value = Plain(a.Value.Any)
	}
	want, ok := value.(int64)
	if !ok || want < 0 {
		return fmt.Errorf("type Count needs a whole number as value, got %s", show(value))
	}
	keys := slices.Sorted(maps.Keys(a.rendered))
	if a.Resource != "" {
		var err error
		if keys, err = a.matching(); err != nil {
			return err
		}
	}
	if int64(len(keys)) != want {
		return fmt.Errorf("want %d resources, got %d: %s", want, len(keys), list(keys))
	}
	return nil
}

func (a *assertion) exists() error {
	keys, err := a.matching()
	switch want := a.Type == "Exists"; {
	case err == nil && want && len(keys) == 0:
		return fmt.Errorf("there is no resource %s%s", a.Resource, a.others())
	case err == nil && !want && len(keys) > 0:
		return fmt.Errorf("want no resource %s, got %s", a.Resource, list(keys))
	}
	return err
}

// parentOf returns the object that contains the field at a path of keys, and its key.
func parentOf(obj map[string]any, field string) (in map[string]any, key string, err error) {
	keys := strings.Split(field, ".")
	last := len(keys) - 1
	for i, key := range keys[:last] {
		next, ok := obj[key].(map[string]any)
		if !ok {
			return nil, "", fmt.Errorf("field %s: %s is not an object", field, strings.Join(keys[:i+1], "."))
		}
		obj = next
	}
	return obj, keys[last], nil
}

func (a *assertion) fieldExists(in map[string]any, key string) error {
	if _, ok := in[key]; !ok {
		return fmt.Errorf("field %s does not exist", a.Field)
	}
	a.found(a.Field)
	return nil
}

func (a *assertion) fieldNotExists(in map[string]any, key string) error {
	if v, ok := in[key]; ok {
		return fmt.Errorf("want no field %s, got %s", a.Field, show(v))
	}
	if near := hint.Misspelled(key, slices.Sorted(maps.Keys(in))); near != "" && a.OnField != nil {
		a.OnField(a.Field, a.path, fmt.Sprintf("field %s does not exist, as it is expected, but %s does: check its name", a.Field, near))
	}
	return nil
}

func (a *assertion) fieldType(in map[string]any, key string) error {
	if err := a.fieldExists(in, key); err != nil {
		return err
	}
	if a.Value == nil {
		return errors.New("type FieldType needs the name of a type as value")
	}
	if got := typeName(in[key]); got != fmt.Sprint(a.Value.Any) {
		return fmt.Errorf("field %s: want type %v, got %s", a.Field, a.Value.Any, got)
	}
	return nil
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "number"
	}
}

func (a *assertion) fieldValue(in map[string]any, key string) error {
	if err := a.fieldExists(in, key); err != nil {
		return err
	}
	if a.Operator != "==" && a.Operator != "is" {
		return fmt.Errorf("unknown operator %q, only == and is", a.Operator)
	}
	if a.Value == nil {
		return errors.New("type FieldValue needs a value")
	}
	if want, got := fmt.Sprint(Plain(a.Value.Any)), fmt.Sprint(Plain(in[key])); want != got {
		return fmt.Errorf("field %s: want %s, got %s", a.Field, want, got)
	}
	return nil
}

// compared returns the documents that Diff and Dyff compare.
func (a *assertion) compared() ([]map[string]any, error) {
	switch obj := a.rendered[a.Resource]; {
	case a.Expected == "":
		return nil, fmt.Errorf("type %s needs the golden file expected", a.Type)
	case a.Resource == "":
		return append([]map[string]any{a.subject.XR}, a.subject.Composed...), nil
	case obj == nil:
		return nil, fmt.Errorf("there is no resource %s%s", a.Resource, a.others())
	default:
		return []map[string]any{obj}, nil
	}
}

func (a *assertion) dyff() error {
	docs, err := a.compared()
	if err == nil {
		a.compare(a.path, a.Expected, docs)
	}
	return err
}

// diff compares the text of the output with a file. The separator before the first document is
// ignored.
func (a *assertion) diff() error {
	docs, err := a.compared()
	if err != nil {
		return err
	}
	var got bytes.Buffer
	if err := manifest.Write(&got, docs...); err != nil {
		return err
	}
	want, err := a.Goldens.Text(a.ctx, a.Expected)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	separator := []byte("---\n")
	if err == nil && bytes.Equal(bytes.TrimPrefix(want, separator), bytes.TrimPrefix(got.Bytes(), separator)) {
		return nil
	}
	before := len(a.failures)
	if a.compare(a.path, a.Expected, docs); len(a.failures) > before {
		return nil
	}
	if updated, err := a.Goldens.Update(a.Expected, docs); err != nil || updated {
		return err
	}
	return hint.Wrap(fmt.Errorf("the text of the output differs from %s, although its structure is equal", a.Expected), "compare the structure with type Dyff, or write the file with "+hint.Update)
}
