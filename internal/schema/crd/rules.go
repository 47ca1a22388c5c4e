package crd

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// types compares the types that two schemas allow. A change from integer to
// number is not breaking.
func (c *comparison) types(from, to map[string]any) {
	was, is := typeOf(from), typeOf(to)
	if was != is {
		wider := is == anyType || was == "integer" && is == "number" ||
			is == intOrString && (was == "integer" || was == "string")
		c.add("type-changed", !wider, "the type is %s, was %s", is, was)
	}
	if from["nullable"] == true && to["nullable"] != true {
		c.add("null-refused", true, "null is no longer allowed")
	}
	if embedded := "x-kubernetes-embedded-resource"; to[embedded] == true && from[embedded] != true {
		c.add("resource-required", true, "the value must be a Kubernetes object")
	}
}

const (
	anyType     = "any"
	intOrString = "integer or string"
)

func typeOf(s map[string]any) string {
	if s["x-kubernetes-int-or-string"] == true {
		return intOrString
	}
	return cmp.Or(fieldpath.Text(s, "type"), anyType)
}

// values compares the enums and the defaults of two schemas.
func (c *comparison) values(from, to map[string]any) {
	was, is := fieldpath.List(from, "enum"), fieldpath.List(to, "enum")
	switch {
	case len(was) == 0 && len(is) > 0:
		c.add("enum-added", true, "the allowed values are %s, were any", compact(is))
	case len(is) > 0:
		if gone := without(was, is); len(gone) > 0 {
			c.add("enum-narrowed", true, "no longer allowed: %s", compact(gone))
		}
		if more := without(is, was); len(more) > 0 {
			c.add("enum-widened", false, "newly allowed: %s", compact(more))
		}
	case len(was) > 0:
		c.add("enum-removed", false, "any value is allowed, were %s", compact(was))
	}
	if was, is := from["default"], to["default"]; !reflect.DeepEqual(was, is) {
		c.add("default-changed", false, "the default is %s, was %s", jsonOrNone(is), jsonOrNone(was))
	}
}

// without returns the values of a that are not in b.
func without(a, b []any) []any {
	var rest []any
	for _, v := range a {
		if !slices.ContainsFunc(b, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			rest = append(rest, v)
		}
	}
	return rest
}

// A bound is a keyword that limits a value from below or above.
type bound struct {
	key   string
	lower bool
}

// bounds compares the limits in two schemas, such as minimum and maxLength, and
// the keywords pattern, format and multipleOf.
func (c *comparison) bounds(from, to map[string]any) {
	for _, b := range []bound{
		{"minimum", true},
		{"maximum", false},
		{"minLength", true},
		{"maxLength", false},
		{"minItems", true},
		{"maxItems", false},
		{"minProperties", true},
		{"maxProperties", false},
	} {
		c.bound(b, from[b.key], to[b.key])
	}
	for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum", "uniqueItems"} {
		if was, is := from[key] == true, to[key] == true; was != is {
			c.add("bound-changed", is, "%s is %t, was %t", key, is, was)
		}
	}
	for _, key := range []string{"pattern", "format", "multipleOf"} {
		was, is := from[key], to[key]
		if reflect.DeepEqual(was, is) {
			continue
		}
		c.add(key+"-changed", is != nil && !multiple(key, was, is), "the %s is %s, was %s", key, jsonOrNone(is), jsonOrNone(was))
	}
}

func (c *comparison) bound(b bound, was, is any) {
	old, had := fieldpath.Float(was)
	now, has := fieldpath.Float(is)
	if had == has && old == now {
		return
	}
	stricter := has && (!had || b.lower == (now > old))
	if b.lower && !had && now <= 0 && b.key != "minimum" {
		stricter = false // a minimum length or number of 0 has no effect
	}
	c.add("bound-changed", stricter, "%s is %s, was %s", b.key, jsonOrNone(is), jsonOrNone(was))
}

// multiple reports whether the keyword is multipleOf and every multiple of was,
// the old value, is also a multiple of is, the new value.
func multiple(key string, was, is any) bool {
	old, had := fieldpath.Float(was)
	now, has := fieldpath.Float(is)
	return key == "multipleOf" && had && has && now != 0 && old/now == float64(int64(old/now))
}

// composed compares the keywords allOf, anyOf, oneOf and not of two schemas
// independently. A change that may reject more values is breaking.
func (c *comparison) composed(from, to map[string]any) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		was, is := fieldpath.List(from, key), fieldpath.List(to, key)
		gone, more := without(was, is), without(is, was)
		if len(gone)+len(more) == 0 {
			continue
		}
		var narrower bool
		switch key {
		case "allOf":
			narrower = len(more) > 0
		case "anyOf":
			narrower = len(is) > 0 && (len(was) == 0 || len(gone) > 0)
		default:
			narrower = len(is) > 0
		}
		c.add("alternatives-changed", narrower, "%s has changed", key)
	}
	if was, is := from["not"], to["not"]; !reflect.DeepEqual(was, is) {
		c.add("alternatives-changed", is != nil, "not has changed")
	}
}

// rules compares the CEL rules of two schemas. It ignores the messages of the rules.
func (c *comparison) rules(from, to map[string]any) {
	was, is := celRules(from), celRules(to)
	for _, rule := range without(is, was) {
		c.add("rule-added", true, "the rule %s is added", compact(rule))
	}
	for _, rule := range without(was, is) {
		c.add("rule-removed", false, "the rule %s is removed", compact(rule))
	}
}

func celRules(s map[string]any) []any {
	var all []any
	for _, v := range fieldpath.List(s, "x-kubernetes-validations") {
		all = append(all, fieldpath.Text(v, "rule"))
	}
	return all
}

// lists compares the types of lists and maps (x-kubernetes-list-type and
// x-kubernetes-map-type). Lists of type set or map reject duplicates.
func (c *comparison) lists(from, to map[string]any) {
	was, is := listType(from), listType(to)
	if was != is {
		c.add("list-type-changed", is != "atomic", "the list is %s, was %s", is, was)
	}
	const mapType, granular = "x-kubernetes-map-type", "granular"
	if was, is := cmp.Or(fieldpath.Text(from, mapType), granular), cmp.Or(fieldpath.Text(to, mapType), granular); was != is {
		c.add("map-type-changed", false, "the object is %s, was %s", is, was)
	}
}

func listType(s map[string]any) string {
	t := cmp.Or(fieldpath.Text(s, "x-kubernetes-list-type"), "atomic")
	if t == "map" {
		return "a map by " + compact(fieldpath.List(s, "x-kubernetes-list-map-keys"))
	}
	return t
}

// unknown compares whether two schemas keep or prune unknown fields.
func (c *comparison) unknown(from, to map[string]any) {
	if keepsUnknown(from) && !keepsUnknown(to) {
		open := isAny(fieldpath.Map(to, "additionalProperties"))
		c.add("unknown-fields-dropped", !open, "unknown fields are pruned, were kept")
	}
	if keepsUnknown(to) && !keepsUnknown(from) {
		c.add("unknown-fields-kept", false, "unknown fields are kept, were pruned")
	}
	if fieldpath.Map(from, "additionalProperties") != nil && fieldpath.Map(to, "additionalProperties") == nil && !keepsUnknown(to) {
		c.add("additional-properties-closed", true, "keys of any name are pruned, were kept")
	}
}

// required compares which fields two schemas require. A required field with a
// default counts as optional.
func (c *comparison) required(from, to map[string]any) {
	was, is := requiredOf(from), requiredOf(to)
	for _, name := range is {
		if !slices.Contains(was, name) {
			c.at(name, func() { c.add("field-required", true, "the field is required") })
		}
	}
	for _, name := range was {
		if _, there := fieldpath.Map(to, "properties")[name]; there && !slices.Contains(is, name) {
			c.at(name, func() { c.add("field-optional", false, "the field is optional") })
		}
	}
}

func requiredOf(s map[string]any) []string {
	var all []string
	for _, v := range fieldpath.List(s, "required") {
		name, _ := v.(string)
		if _, has := fieldpath.Map(s, "properties", name)["default"]; !has {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func jsonOrNone(v any) string {
	if v == nil {
		return "none"
	}
	return compact(v)
}

// maxText is the maximum number of characters of a value in Change.Text.
const maxText = 200

// compact returns a value as JSON of at most maxText characters.
func compact(v any) string {
	var b bytes.Buffer
	if err := manifest.WriteJSON(&b, "", v); err != nil {
		return "something else"
	}
	text := []rune(string(bytes.TrimSpace(b.Bytes())))
	if len(text) > maxText {
		return string(text[:maxText]) + "…"
	}
	return string(text)
}
