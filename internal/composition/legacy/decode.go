package legacy

import (
	"encoding/json"
	"errors"

	kjson "sigs.k8s.io/json"

	pt "github.com/xfn-dev/xfn/internal/patch/spec"
)

// converted are the fields of a spec that a pipeline takes the place of.
var converted = []string{"patchSets", "environment", "resources", "functions", "pipeline"}

// decode decodes what is to be converted. Fields that do not exist are noted
// and left out, as the API server drops them; the function's input must not
// have any. The first hundred are noted.
func (c *converter) decode(was map[string]any) (spec, error) {
	part := map[string]any{}
	for _, key := range converted {
		if v, ok := was[key]; ok {
			part[key] = v
		}
	}
	var old struct {
		Spec spec `json:"spec"`
	}
	raw, err := json.Marshal(map[string]any{"spec": part})
	if err != nil {
		return spec{}, Note{"spec", err.Error()}
	}
	unknown, err := kjson.UnmarshalStrict(raw, &old, kjson.DisallowUnknownFields)
	if err != nil {
		return spec{}, misfit(err)
	}
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			c.note(field.FieldPath(), dropped)
		}
	}
	return old.Spec, nil
}

// misfit is a value that cannot be what its field is.
func misfit(err error) error {
	field, value, ok := pt.SplitTypeError(err)
	if !ok {
		return Note{"spec", err.Error()}
	}
	return Note{field, "cannot decode a JSON " + value}
}

// object returns what a struct is as an object of JSON. Its fields all came
// from JSON.
func object(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, Note{"spec", err.Error()}
	}
	var obj map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &obj); err != nil {
		return nil, Note{"spec", err.Error()}
	}
	return obj, nil
}
