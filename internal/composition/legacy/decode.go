package legacy

import (
	"encoding/json"
	"errors"

	kjson "sigs.k8s.io/json"

	pt "github.com/xfn-dev/xfn/internal/patch/spec"
)

// converted are the fields of a spec that a pipeline replaces.
var converted = []string{"patchSets", "environment", "resources", "functions", "pipeline"}

// decode decodes the fields to convert. Unknown fields are noted and left out,
// as the API server drops them. The first hundred are noted.
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

// misfit returns the error of a value of the wrong type.
func misfit(err error) error {
	field, value, ok := pt.SplitTypeError(err)
	if !ok {
		return Note{"spec", err.Error()}
	}
	return Note{field, "cannot decode a JSON " + value}
}

// object converts a struct of JSON values to an object.
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
