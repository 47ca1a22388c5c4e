package patch

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A TransformFunc returns the transformed value v. It must not change v.
type TransformFunc func(v any, b *Budget) (any, error)

// A TransformChain is a list of compiled transforms.
type TransformChain []TransformFunc

// CompileTransforms compiles transforms. TransformChain.Apply returns the
// errors of invalid transforms.
func CompileTransforms(transforms []spec.Transform) TransformChain {
	chain := make(TransformChain, len(transforms))
	for i := range transforms {
		t := &transforms[i]
		f, err := compile(t)
		if err != nil {
			chain[i] = errorTransform(err)
			continue
		}
		chain[i] = func(v any, b *Budget) (any, error) {
			v, err := f(v, b)
			if err != nil {
				return nil, fmt.Errorf("%s transform could not resolve: %w", t.Type, err)
			}
			return v, nil
		}
	}
	return chain
}

// Branches returns the paths that Budget.Branch can receive for a transform, sorted.
func Branches(t *spec.Transform) []string {
	var all []string
	switch {
	case t.Type == spec.TransformMap:
		for _, key := range slices.Sorted(maps.Keys(t.Map)) {
			all = append(all, "map."+key)
		}
	case t.Type == spec.TransformMatch && t.Match != nil:
		for i := range t.Match.Patterns {
			all = append(all, "match.patterns["+strconv.Itoa(i)+"]")
		}
		all = append(all, "match")
	}
	return all
}

func errorTransform(err error) TransformFunc {
	return func(any, *Budget) (any, error) { return nil, err }
}

// Apply runs the transforms in order, each with the result of the previous one.
func (c TransformChain) Apply(v any, b *Budget) (any, error) {
	for i, f := range c {
		b.transform = i
		var err error
		if v, err = f(v, b); err != nil {
			return nil, fmt.Errorf("transform at index %d returned error: %w", i, err)
		}
	}
	return v, nil
}

func compile(t *spec.Transform) (TransformFunc, error) {
	switch {
	case t.Type == spec.TransformMap && t.Map != nil:
		return mapper(t.Map), nil
	case t.Type == spec.TransformMatch && t.Match != nil:
		return matcher(t.Match), nil
	case t.Type == spec.TransformMath && t.Math != nil:
		return arithmetic(t.Math), nil
	case t.Type == spec.TransformString && t.String != nil:
		return text(t.String), nil
	case t.Type == spec.TransformConvert && t.Convert != nil:
		return converter(t.Convert), nil
	}
	switch t.Type {
	case spec.TransformMap, spec.TransformMatch, spec.TransformMath, spec.TransformString, spec.TransformConvert:
		return nil, fmt.Errorf("given transform type %s requires configuration", t.Type)
	default:
		return nil, fmt.Errorf("transform type %s is not supported", t.Type)
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }

func mapper(pairs map[string]json.RawMessage) TransformFunc {
	return func(v any, b *Budget) (any, error) {
		key, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("type %s is not supported for map transform", typeName(v))
		}
		raw, ok := pairs[key]
		if !ok {
			return nil, fmt.Errorf("key %s is not found in map", key)
		}
		b.selected("map.", key)
		if isNull(raw) {
			raw = nil
		}
		var result any
		if err := json.Unmarshal(raw, &result); err != nil {
			return nil, fmt.Errorf("value for key %s is not valid JSON: %w", key, err)
		}
		return result, nil
	}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// decoded decodes raw. raw must be valid JSON, which parts of decoded JSON are.
func decoded(raw json.RawMessage) (v any, err error) {
	if isNull(raw) {
		return nil, nil
	}
	err = json.Unmarshal(raw, &v)
	return v, err
}

func arithmetic(m *spec.Math) TransformFunc {
	if err := m.Validate(); err != nil {
		return errorTransform(err)
	}
	return func(v any, _ *Budget) (any, error) {
		var whole int64
		switch n := v.(type) {
		case int64:
			whole = n
		case float64:
			whole = truncate(n)
		default:
			return nil, fmt.Errorf("input is required to be a number for math transformer, got %s", typeName(v))
		}
		switch {
		case m.Type == spec.Multiply:
			return multiply(v, *m.Multiply), nil
		case m.Type == spec.ClampMin && whole < *m.ClampMin:
			return *m.ClampMin, nil
		case m.Type == spec.ClampMax && whole > *m.ClampMax:
			return *m.ClampMax, nil
		default:
			return v, nil
		}
	}
}

func multiply(v any, by int64) any {
	if n, ok := v.(int64); ok {
		return n * by
	}
	return v.(float64) * float64(by)
}

// truncate converts f to an integer without the fraction. On overflow it
// returns the same value as on amd64.
func truncate(f float64) int64 {
	if f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f)
	}
	return math.MinInt64
}
