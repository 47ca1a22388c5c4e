package clusterdiff

import (
	"iter"
	"maps"
	"slices"
	"strings"

	smdpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// An inference is the structure of an object whose schema is unknown.
type inference struct {
	of typed.ParseableType
	// guessed has the paths of lists, without indices, whose structure neither a schema
	// nor managed fields show.
	guessed map[string]bool
}

// infer returns the common structure of objects. Managed fields show which lists have keys
// or are sets. In other lists, objects with unique names have the key name. All other lists
// are atomic.
func infer(managed smdpath.ManagedFields, objects ...map[string]any) inference {
	g := inference{guessed: map[string]bool{}}
	var sets []*smdpath.Set
	for _, name := range slices.Sorted(maps.Keys(managed)) {
		sets = append(sets, managed[name].Set())
	}
	var values []any
	for _, object := range objects {
		if object != nil {
			values = append(values, object)
		}
	}
	g.of = typed.ParseableType{Schema: typed.DeducedParseableType.Schema, TypeRef: g.typeOf(nil, values, sets)}
	return g
}

// typeOf returns the type of the values at path. sets are the managed fields below path.
func (g inference) typeOf(path []string, values []any, sets []*smdpath.Set) smd.TypeRef {
	fields, items := map[string][]any{}, []any{}
	lists, objects := 0, 0
	for _, v := range values {
		switch v := v.(type) {
		case map[string]any:
			objects++
			for name, field := range v {
				fields[name] = append(fields[name], field)
			}
		case []any:
			items = append(items, v...)
			lists++
		}
	}
	switch {
	case lists == len(values) && lists > 0:
		return g.listOf(path, values, items, sets)
	case objects < len(values) || objects == 0:
		return typed.DeducedParseableType.TypeRef
	}
	m := &smd.Map{ElementType: typed.DeducedParseableType.TypeRef}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below, at := descend(sets, smdpath.FieldNameElement(name)), append(slices.Clone(path), name)
		if leaf := slices.ContainsFunc(sets, func(s *smdpath.Set) bool { return s.Members.Has(smdpath.FieldNameElement(name)) }); leaf && len(below) == 0 {
			continue // The field is atomic or a scalar.
		}
		m.Fields = append(m.Fields, smd.StructField{Name: name, Type: g.typeOf(at, fields[name], below)})
	}
	return smd.TypeRef{Inlined: smd.Atom{Map: m}}
}

func (g inference) listOf(path []string, lists, items []any, sets []*smdpath.Set) smd.TypeRef {
	list := &smd.List{ElementRelationship: smd.Associative}
	var below []*smdpath.Set
	isSet := false
	for _, s := range sets {
		for element := range elements(s) {
			isSet = isSet || element.Value != nil
			if element.Key != nil {
				list.Keys = keyNames(*element.Key)
				below = append(below, descend(sets, element)...)
			}
		}
	}
	switch {
	case isSet, len(list.Keys) > 0 && haveAll(items, list.Keys):
	case !slices.ContainsFunc(lists, func(l any) bool { return byName(l) == nil }):
		list.Keys = []string{"name"}
		g.guessed[strings.Join(path, ".")] = true
	default:
		list.ElementRelationship, list.Keys = smd.Atomic, nil
		g.guessed[strings.Join(path, ".")] = true
	}
	list.ElementType = g.typeOf(path, items, below)
	return smd.TypeRef{Inlined: smd.Atom{List: list}}
}

func elements(s *smdpath.Set) iter.Seq[smdpath.PathElement] {
	return func(yield func(smdpath.PathElement) bool) {
		for e := range s.Members.All() {
			if !yield(e) {
				return
			}
		}
		for e := range s.Children.All() {
			if !yield(e) {
				return
			}
		}
	}
}

func keyNames(key value.FieldList) []string {
	names := make([]string, len(key))
	for i, field := range key {
		names[i] = field.Name
	}
	return names
}

func haveAll(items []any, fields []string) bool {
	return !slices.ContainsFunc(items, func(item any) bool {
		object, _ := item.(map[string]any)
		return slices.ContainsFunc(fields, func(f string) bool { return object[f] == nil })
	})
}

// descend returns the parts of sets that are below element.
func descend(sets []*smdpath.Set, element smdpath.PathElement) (below []*smdpath.Set) {
	for _, s := range sets {
		if child, ok := s.Children.Get(element); ok {
			below = append(below, child)
		}
	}
	return below
}

// adopt returns desired with the items of guessed lists by index: an item of live that has
// all values of the desired item replaces it, and so keeps the fields that others set.
func (g inference) adopt(path []string, live, desired any) any {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return desired
		}
		out := make(map[string]any, len(d))
		for name, v := range d {
			out[name] = g.adopt(append(slices.Clone(path), name), l[name], v)
		}
		return out
	case []any:
		l, ok := live.([]any)
		if !ok || !g.guessed[strings.Join(path, ".")] || byName(l) != nil && byName(d) != nil {
			return desired
		}
		out := slices.Clone(d)
		for i := range min(len(l), len(d)) {
			if within(d[i], l[i]) {
				out[i] = l[i]
			}
		}
		return out
	}
	return desired
}

// byName returns the items of a list of objects by their field name. It returns
// nil if v is not such a list, or if the names are not unique.
func byName(v any) map[string]map[string]any {
	list, _ := v.([]any)
	names := make(map[string]map[string]any, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		if name == "" || names[name] != nil {
			return nil
		}
		names[name] = object
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

func within(desired, live any) bool {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for k, v := range d {
			if !ok || !within(v, l[k]) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := live.([]any)
		return ok && slices.EqualFunc(d, l, within)
	default:
		return fieldpath.Equal(desired, live)
	}
}
