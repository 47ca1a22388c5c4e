package coverage

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Field is a field of a composed resource.
type Field struct {
	// Resource is the name of the composed resource. Path is the path of the field in it,
	// with [*] for the indexes of lists.
	Resource, Path string
}

// Limits of a schema: the depth of its fields, and their number. A schema may refer to
// itself.
const (
	maxDepth  = 32
	maxFields = 10_000
)

// xrFields returns the leaf fields of spec in the schema of a composite resource, and whether
// the resource sets them to something else than their default. It returns nil for a nil XRD.
func xrFields(xrd, xr map[string]any) map[string]bool {
	schema := fieldpath.Map(schemaOf(xrd, fieldpath.Text(xr, "apiVersion")), "properties", "spec")
	if schema == nil {
		return nil
	}
	fields := map[string]bool{}
	addFields(fields, "spec", schema, []any{xr["spec"]}, 0)
	return fields
}

// schemaOf returns the schema of the version of an apiVersion in an XRD, or nil.
func schemaOf(xrd map[string]any, apiVersion string) map[string]any {
	group := fieldpath.Text(xrd, "spec", "group")
	for _, version := range fieldpath.List(xrd, "spec", "versions") {
		if group+"/"+fieldpath.Text(version, "name") == apiVersion {
			return fieldpath.Map(version, "schema", "openAPIV3Schema")
		}
	}
	return nil
}

// addFields adds the leaf fields of a schema. values are the values that a composite resource
// has at the path: several if a list is on the way.
func addFields(fields map[string]bool, path string, schema map[string]any, values []any, depth int) {
	properties, items := fieldpath.Map(schema, "properties"), fieldpath.Map(schema, "items")
	switch {
	case depth > maxDepth || len(fields) >= maxFields:
	case len(properties) > 0:
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			addFields(fields, fieldpath.Join(path, key), fieldpath.Map(properties, key), valuesAt(values, key), depth+1)
		}
	case items != nil:
		var elements []any
		for _, v := range values {
			elements = append(elements, fieldpath.List(v)...)
		}
		addFields(fields, path+"[*]", items, elements, depth+1)
	default:
		fields[path] = slices.ContainsFunc(values, func(v any) bool {
			return v != nil && !reflect.DeepEqual(v, schema["default"])
		})
	}
}

func valuesAt(values []any, key string) []any {
	var all []any
	for _, v := range values {
		if value, ok := fieldpath.Map(v)[key]; ok {
			all = append(all, value)
		}
	}
	return all
}

// leaves iterates over the paths of the leaf fields that a pipeline chose in a composed
// resource. A path may repeat, because the elements of a list have the same path. It leaves
// out the name, and the labels and annotations of Crossplane.
func leaves(obj map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		chosen := maps.Clone(obj)
		for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
			delete(chosen, key)
		}
		for _, field := range []string{"annotations", "labels"} {
			own := maps.Clone(fieldpath.Map(obj, "metadata", field))
			maps.DeleteFunc(own, func(key string, _ any) bool { return strings.Contains(key, "crossplane.io/") })
			if !leavesAt("metadata."+field, own, yield) {
				return
			}
		}
		leavesAt("", chosen, yield)
	}
}

func leavesAt(path string, v any, yield func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !leavesAt(fieldpath.Join(path, key), v[key], yield) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !leavesAt(path+"[*]", e, yield) {
				return false
			}
		}
	default:
		return yield(path)
	}
	return true
}
