package fieldpath

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// An Op is the kind of a change.
type Op string

// The kinds of changes.
const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"
)

// Sign returns the character that a diff prints for the op: +, - or ~.
func (o Op) Sign() string {
	switch o {
	case Added:
		return "+"
	case Removed:
		return "-"
	}
	return "~"
}

// A Change is a difference in one field.
type Change struct {
	// Path is the path of the field, in Crossplane's field path syntax:
	// spec.ports[0].name, metadata.labels[example.org/key]. An empty key,
	// or one with a bracket, is quoted in brackets.
	Path string `json:"path"`
	Op   Op     `json:"op"`
	// Old and New are the values of the field before and after the change.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
	// Step is the pipeline step that set the field to New. Diff does not set it.
	Step string `json:"step,omitempty"`
}

// Diff returns the differences between two values. It compares them with a zero Differ.
func Diff(before, after any) []Change { return Differ{}.Diff(before, after) }

// A Differ compares two values of JSON types. The zero Differ reports a Change
// for each scalar, empty object and empty list that differs.
type Differ struct {
	// Whole reports an object that was added or removed as one change. If Whole
	// is false, each scalar in the object is a change.
	Whole bool
	// SameLength requires lists of the same length: two lists of different
	// lengths are one change. It has no effect unless Whole is set.
	SameLength bool
	// Name returns the name of a list's element, or "". Two lists whose elements all have
	// unique names are compared by name. Other lists are compared by index.
	Name func(element any) string
	// Opaque reports whether the values of a key are compared as a whole. A
	// difference between them is then one change.
	Opaque func(key string) bool
	// Limit is the number of changes after which values are compared as a whole.
	// 0 means no limit.
	Limit int
	// Raw separates keys in Change.Path with dots and never quotes a key.
	Raw bool
}

// Diff returns the differences between two values of JSON types. Keys are in natural order
// (port2 before port10), and list elements in the order of their indexes. Numbers are
// compared by value: 1 equals 1.0. A nil value means that the value does not exist.
//
// The changes share memory with the values. Values whose path is longer than 512
// bytes are compared as a whole, which limits the size of the result.
func (d Differ) Diff(before, after any) []Change {
	w := differ{Differ: d}
	w.walk("", root(before), root(after))
	return w.changes
}

// root returns v, or absent{} if v is nil or a nil map.
func root(v any) any {
	if m, ok := v.(map[string]any); v == nil || ok && m == nil {
		return absent{}
	}
	return v
}

type differ struct {
	Differ
	changes []Change
	// at is the path of the two values that are being compared.
	at []byte
}

// maxPath is the maximum size of a path in bytes. Values with a longer path are
// compared as a whole.
const maxPath = 512

// walk compares two values. key is the key or the name of the values in their
// parent, or "" if they have neither.
func (d *differ) walk(key string, before, after any) {
	switch {
	case len(d.at) > maxPath, d.Limit > 0 && len(d.changes) >= d.Limit, key != "" && d.Opaque != nil && d.Opaque(key):
		d.leaf(before, after)
	case d.Whole:
		d.whole(before, after)
	default:
		oldMap, oldList, before := container(before)
		newMap, newList, after := container(after)
		d.leaf(before, after)
		d.maps(oldMap, newMap)
		d.lists(oldList, newList)
	}
}

// walkAt calls walk while d.at is the path at, and then restores d.at.
func (d *differ) walkAt(at []byte, key string, before, after any) {
	parent := d.at
	d.at = at
	d.walk(key, before, after)
	d.at = parent
}

// container returns v as fields if it is a non-empty object, as elements if it is
// a non-empty list, or else as other.
func container(v any) (fields map[string]any, elements []any, other any) {
	switch c := v.(type) {
	case map[string]any:
		if len(c) > 0 {
			return c, nil, absent{}
		}
	case []any:
		if len(c) > 0 {
			return nil, c, absent{}
		}
	}
	return nil, nil, v
}

// whole compares two values. If only one of them is an object, the difference is
// one change.
func (d *differ) whole(before, after any) {
	oldMap, wasMap := before.(map[string]any)
	newMap, isMap := after.(map[string]any)
	oldList, wasList := before.([]any)
	newList, isList := after.([]any)
	switch {
	case wasMap && isMap:
		d.maps(oldMap, newMap)
	case d.SameLength && len(oldList) != len(newList):
		d.leaf(before, after)
	case wasList && isList, len(oldList) > 0 && after == any(absent{}), len(newList) > 0 && before == any(absent{}):
		d.lists(oldList, newList)
	default:
		d.leaf(before, after)
	}
}

func (d *differ) maps(before, after map[string]any) {
	for _, key := range ChangedKeys(before, after, sameScalar) {
		d.walkAt(appendKey(d.at, key, d.Raw), key, get(before, key), get(after, key))
	}
}

func (d *differ) lists(before, after []any) {
	if was, is := d.named(before), d.named(after); was != nil && is != nil {
		for _, name := range ChangedKeys(was, is, sameScalar) {
			d.walkAt(fmt.Appendf(d.at, "[%s]", name), name, get(was, name), get(is, name))
		}
		return
	}
	for i := range max(len(before), len(after)) {
		d.walkAt(fmt.Appendf(d.at, "[%d]", i), "", element(before, i), element(after, i))
	}
}

// named returns the elements of a list by their names. It returns nil if they
// have no unique names.
func (d *differ) named(list []any) map[string]any {
	if d.Name == nil {
		return nil
	}
	all := make(map[string]any, len(list))
	for _, v := range list {
		name := d.Name(v)
		if _, twice := all[name]; twice || name == "" {
			return nil
		}
		all[name] = v
	}
	return all
}

func (d *differ) leaf(before, after any) {
	c := Change{Op: Changed, Old: before, New: after}
	switch {
	case before == any(absent{}) && after == any(absent{}):
		return
	case before == any(absent{}):
		c.Op, c.Old = Added, nil
	case after == any(absent{}):
		c.Op, c.New = Removed, nil
	case Equal(before, after):
		return
	}
	c.Path = strings.TrimPrefix(string(d.at), ".")
	d.changes = append(d.changes, c)
}

// appendKey appends a key to the path at. Unless raw is true, it quotes special
// keys as in Crossplane's field path syntax.
func appendKey(at []byte, key string, raw bool) []byte {
	switch {
	case raw:
	case key == "" || strings.ContainsAny(key, "[]"):
		return fmt.Appendf(at, "[%q]", key)
	case key == "*" || strings.Contains(key, "."):
		return fmt.Appendf(at, "[%s]", key)
	}
	return append(append(at, '.'), key...)
}

// ChangedKeys returns the keys whose values differ in a and b, or that only one
// of them has, in natural order.
func ChangedKeys[V any](a, b map[string]V, same func(V, V) bool) []string {
	all := make([]string, 0, max(len(a), len(b)))
	for k, was := range a {
		if is, ok := b[k]; !ok || !same(was, is) {
			all = append(all, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, Natural)
	return all
}

// sameScalar is a fast comparison. It may return false for equal values.
func sameScalar(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	}
	return false
}

func get(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func element(l []any, i int) any {
	if i < len(l) {
		return l[i]
	}
	return absent{}
}

// Equal reports whether two values are equal. Numbers are compared by value.
func Equal(a, b any) bool {
	x, isNumber := toNumber(a)
	y, both := toNumber(b)
	if isNumber && both {
		return x == y
	}
	return isNumber == both && reflect.DeepEqual(a, b)
}

// A number is a numeric value. A whole number that fits an int64 is in whole,
// any other number in float.
type number struct {
	whole int64
	float float64
	nan   bool
}

func toNumber(v any) (number, bool) {
	switch n := v.(type) {
	case int:
		return number{whole: int64(n)}, true
	case int32:
		return number{whole: int64(n)}, true
	case int64:
		return number{whole: n}, true
	case float32:
		return fromFloat(float64(n)), true
	case float64:
		return fromFloat(n), true
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return number{whole: i}, true
		}
		f, err := n.Float64()
		return fromFloat(f), err == nil
	}
	return number{}, false
}

func fromFloat(f float64) number {
	const limit = 1 << 63
	switch {
	case math.IsNaN(f):
		return number{nan: true}
	case f == math.Trunc(f) && f >= -limit && f < limit:
		return number{whole: int64(f)}
	}
	return number{float: f}
}
