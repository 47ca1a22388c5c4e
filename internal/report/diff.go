package report

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// An Op says what happened to something.
type Op string

// What can happen to something.
const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"
)

// A Change is what happened to one field.
type Change struct {
	// Path is the field, in Crossplane's field path syntax: spec.ports[0].name,
	// metadata.labels[example.org/key]. A key that this syntax cannot express,
	// since it is empty or has a bracket, stands quoted in brackets.
	Path string `json:"path"`
	Op   Op     `json:"op"`
	// Old and New are the values before and after: scalars, or an empty object
	// or list.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
	// Step is the pipeline step that set the field to New. Whoever knows fills
	// it in.
	Step string `json:"step,omitempty"`
}

// Diff returns how one value became another, leaf by leaf: a leaf is a scalar,
// an empty object or an empty list. Objects are compared by key, lists by index,
// and numbers as numbers: 1 is 1.0. A nil value has no leaves. Changes are in the
// order of the tree: keys in natural order (port2 before port10), lists by index.
//
// Values are maps, lists and scalars as JSON decodes to. They are not changed;
// the result shares what it holds of them. What lies under a path that is longer
// than 512 bytes counts as one leaf, so that no input makes the result much
// larger than itself.
func Diff(before, after any) []Change {
	d := differ{}
	d.walk(nil, root(before), root(after))
	return d.changes
}

type absent struct{}

// root is v, where a nil map is as absent as nil.
func root(v any) any {
	if m, ok := v.(map[string]any); v == nil || ok && m == nil {
		return absent{}
	}
	return v
}

type differ struct{ changes []Change }

func (d *differ) walk(at *path, before, after any) {
	if at.long() {
		d.leaf(at, before, after)
		return
	}
	oldMap, newMap := fields(before), fields(after)
	oldList, newList := elements(before), elements(after)
	oldLeaf, newLeaf := before, after
	if oldMap != nil || oldList != nil {
		oldLeaf = absent{}
	}
	if newMap != nil || newList != nil {
		newLeaf = absent{}
	}
	d.leaf(at, oldLeaf, newLeaf)
	for _, key := range keys(oldMap, newMap, sameScalar) {
		d.walk(at.field(key), get(oldMap, key), get(newMap, key))
	}
	for i := range max(len(oldList), len(newList)) {
		d.walk(at.index(i), element(oldList, i), element(newList, i))
	}
}

func (d *differ) leaf(at *path, before, after any) {
	switch {
	case before == any(absent{}) && after == any(absent{}):
	case before == any(absent{}):
		d.changes = append(d.changes, Change{Path: at.String(), Op: Added, New: after})
	case after == any(absent{}):
		d.changes = append(d.changes, Change{Path: at.String(), Op: Removed, Old: before})
	case !equal(before, after):
		d.changes = append(d.changes, Change{Path: at.String(), Op: Changed, Old: before, New: after})
	}
}

// fields returns v if it is an object that has leaves below it, else nil.
func fields(v any) map[string]any {
	if m, ok := v.(map[string]any); ok && len(m) > 0 {
		return m
	}
	return nil
}

// elements returns v if it is a list that has leaves below it, else nil.
func elements(v any) []any {
	if l, ok := v.([]any); ok && len(l) > 0 {
		return l
	}
	return nil
}

// keys returns the keys of both maps in natural order, without those whose
// values are the same.
func keys[V any](a, b map[string]V, same func(V, V) bool) []string {
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
	slices.SortFunc(all, natural)
	return all
}

// sameScalar tells equal values of the usual types, to be quick about them. It
// may be false for others.
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

func equal(a, b any) bool {
	x, isNumber := toNumber(a)
	y, both := toNumber(b)
	if isNumber && both {
		return x == y
	}
	return isNumber == both && reflect.DeepEqual(a, b)
}

// A number is a whole number that fits an int64, in whole, or any other, in
// float; so equal numbers are equal structs.
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

// longest is how many bytes of path are gone down to before what lies below
// counts as one value.
const longest = 512

// A path is a place in a tree: a key or an index below another path. Nil is
// the root. Its text is only made for what has changed.
type path struct {
	up   *path
	key  string
	at   int // the index, or -1 for a key
	size int // at least the bytes of its text
}

func (p *path) field(key string) *path {
	return &path{up: p, key: key, at: -1, size: p.bytes() + len(key) + 2}
}

func (p *path) index(i int) *path {
	return &path{up: p, at: i, size: p.bytes() + len("[0]")}
}

func (p *path) bytes() int {
	if p == nil {
		return 0
	}
	return p.size
}

func (p *path) long() bool { return p.bytes() > longest }

// String returns the path in Crossplane's syntax, "" for the root.
func (p *path) String() string {
	if p == nil {
		return ""
	}
	return strings.TrimPrefix(string(p.append(make([]byte, 0, p.size+8))), ".")
}

func (p *path) append(b []byte) []byte {
	if p.up != nil {
		b = p.up.append(b)
	}
	switch {
	case p.at >= 0:
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(p.at), 10)
		return append(b, ']')
	case p.key == "" || strings.ContainsAny(p.key, "[]"):
		b = append(b, '[')
		b = strconv.AppendQuote(b, p.key)
		return append(b, ']')
	case p.key == "*" || strings.Contains(p.key, "."):
		b = append(b, '[')
		b = append(b, p.key...)
		return append(b, ']')
	default:
		b = append(b, '.')
		return append(b, p.key...)
	}
}

// natural compares strings so that runs of digits count as numbers: it puts
// port2 before port10.
func natural(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if digit(a[i]) && digit(b[j]) {
			m, n := digits(a[i:]), digits(b[j:])
			if c := compareDigits(a[i:i+m], b[j:j+n]); c != 0 {
				return c
			}
			i, j = i+m, j+n
			continue
		}
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
		i, j = i+1, j+1
	}
	if rest := (len(a) - i) - (len(b) - j); rest != 0 {
		return rest
	}
	return strings.Compare(a, b)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) int {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return n
}

func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
