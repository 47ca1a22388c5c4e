package patch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A merger merges the value of a patch with the existing value in the target.
type merger struct {
	// force replaces an existing value that cannot be merged with the new one.
	force bool
	// appends adds the elements of a list to an existing list, instead of replacing it.
	appends bool
}

// mergerOf returns the merger for a policy, or nil for the policy Replace.
func mergerOf(p spec.ToPolicy) (*merger, error) {
	switch p {
	case spec.Replace:
		return nil, nil
	case spec.MergeObjects, spec.MergeObject:
		return &merger{}, nil
	case spec.MergeObjectsAppendArrays:
		return &merger{appends: true}, nil
	case spec.ForceMergeObjects:
		return &merger{force: true}, nil
	case spec.ForceMergeObjectsAppendArrays, spec.AppendArray:
		return &merger{force: true, appends: true}, nil
	default:
		return nil, fmt.Errorf("invalid patch policy %s", p)
	}
}

// merge returns src merged into dst. It changes neither dst nor src.
func (m *merger) merge(dst, src any) (any, error) {
	if dst == nil || src == nil {
		return src, nil
	}
	if m.appends {
		src = without(src, dst)
		if isEmptyList(dst) && isEmptyList(src) {
			// function-patch-and-transform has this bug: the result is null.
			return nil, nil
		}
	}
	return m.value(dst, src)
}

// value returns src merged into dst. dst is nil if there is no existing value.
func (m *merger) value(dst, src any) (any, error) {
	switch s := src.(type) {
	case map[string]any:
		if d, ok := dst.(map[string]any); ok {
			return m.objects(d, s)
		}
	case []any:
		if m.appends {
			return appended(dst, s)
		}
	}
	if m.force || isZero(dst) {
		return src, nil
	}
	return dst, nil
}

func (m *merger) objects(dst, src map[string]any) (any, error) {
	merged := maps.Clone(dst)
	for _, key := range slices.Sorted(maps.Keys(src)) {
		if src[key] == nil && !m.force {
			continue
		}
		v, err := m.value(dst[key], src[key])
		if err != nil {
			return nil, err
		}
		merged[key] = v
	}
	if len(merged) == 0 {
		return src, nil
	}
	return merged, nil
}

func appended(dst any, src []any) (any, error) {
	switch d := dst.(type) {
	case nil:
		return src, nil
	case []any:
		if len(d) == 0 {
			return src, nil
		}
		return slices.Concat(d, src), nil
	default:
		return nil, fmt.Errorf("failed to merge values: cannot append two slices with different type ([]interface {}, %T)", dst)
	}
}

func isEmptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

func isZero(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return v == nil || v == false || v == int64(0) || v == 0.0 || v == ""
	}
}

// without returns list without the elements that are also in other. Elements of
// different Go types, such as int64 1 and float64 1.0, are different.
func without(list, other any) any {
	l, isList := list.([]any)
	o, isOther := other.([]any)
	if !isList || !isOther {
		return list
	}
	has := make(map[string]bool, len(o))
	for _, v := range o {
		has[string(canonical(nil, v))] = true
	}
	rest := []any{}
	for _, v := range l {
		if !has[string(canonical(nil, v))] {
			rest = append(rest, v)
		}
	}
	return rest
}

// canonical appends to b a text for v. Two values have the same text only if
// they are deeply equal.
func canonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(append(b, 'i'), v, 10)
	case float64:
		return strconv.AppendFloat(append(b, 'd'), v, 'g', -1, 64)
	case string:
		return strconv.AppendQuote(b, v)
	case []any:
		b = append(b, '[')
		for _, element := range v {
			b = append(canonical(b, element), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = append(canonical(append(strconv.AppendQuote(b, key), ':'), v[key]), ',')
		}
		return append(b, '}')
	default:
		return fmt.Appendf(b, "%T(%v)", v, v)
	}
}
