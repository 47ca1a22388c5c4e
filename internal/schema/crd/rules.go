package crd

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// types compares the type of a value. A whole number is a number, too.
func (c *comparison) types(from, to object) {
	was, is := typeOf(from), typeOf(to)
	if was != is {
		wider := is == anyType || was == "integer" && is == "number" ||
			is == intOrString && (was == "integer" || was == "string")
		c.add("type-changed", !wider, "the type is %s, was %s", is, was)
	}
	if from.is("nullable") && !to.is("nullable") {
		c.add("null-refused", true, "null is not allowed any more")
	}
	if embedded := "x-kubernetes-embedded-resource"; to.is(embedded) && !from.is(embedded) {
		c.add("resource-required", true, "the value has to be a Kubernetes object")
	}
}

const (
	anyType     = "any"
	intOrString = "integer or string"
)

func typeOf(s object) string {
	if s.is("x-kubernetes-int-or-string") {
		return intOrString
	}
	if t := s.text("type"); t != "" {
		return t
	}
	return anyType
}

// values compares the values that are allowed, and the one that is the default.
func (c *comparison) values(from, to object) {
	was, is := from.list("enum"), to.list("enum")
	switch {
	case len(was) == 0 && len(is) > 0:
		c.add("enum-added", true, "only %s are allowed, where any value was", compact(is))
	case len(is) > 0:
		if gone := without(was, is); len(gone) > 0 {
			c.add("enum-narrowed", true, "%s %s not allowed any more", compact(gone), isOrAre(gone))
		}
		if more := without(is, was); len(more) > 0 {
			c.add("enum-widened", false, "%s %s allowed, too", compact(more), isOrAre(more))
		}
	case len(was) > 0:
		c.add("enum-removed", false, "any value is allowed, where only %s were", compact(was))
	}
	if was, is := from["default"], to["default"]; !reflect.DeepEqual(was, is) {
		c.add("default-changed", false, "the default is %s, was %s", orNone(is), orNone(was))
	}
}

func isOrAre(values []any) string {
	if len(values) == 1 {
		return "is"
	}
	return "are"
}

// without returns the values of a that b has not.
func without(a, b []any) []any {
	var rest []any
	for _, v := range a {
		if !slices.ContainsFunc(b, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			rest = append(rest, v)
		}
	}
	return rest
}

// A bound is a limit of a value. It is stricter if it moves to the value's side.
type bound struct {
	key   string
	lower bool
}

// bounds compares the limits of numbers, texts, lists and maps.
func (c *comparison) bounds(from, to object) {
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
		if from.is(key) != to.is(key) {
			c.add("bound-changed", to.is(key), "%s is %t, was %t", key, to.is(key), from.is(key))
		}
	}
	for _, key := range []string{"pattern", "format", "multipleOf"} {
		was, is := from[key], to[key]
		if reflect.DeepEqual(was, is) {
			continue
		}
		c.add(key+"-changed", is != nil && !multiple(key, was, is), "the %s is %s, was %s", key, orNone(is), orNone(was))
	}
}

func (c *comparison) bound(b bound, was, is any) {
	old, had := number(was)
	now, has := number(is)
	if had == has && old == now {
		return
	}
	stricter := has && (!had || b.lower == (now > old))
	if b.lower && !had && now <= 0 && b.key != "minimum" {
		stricter = false // As good as none.
	}
	c.add("bound-changed", stricter, "%s is %s, was %s", b.key, orNone(is), orNone(was))
}

// multiple reports whether every multiple of was is one of is.
func multiple(key string, was, is any) bool {
	old, had := number(was)
	now, has := number(is)
	return key == "multipleOf" && had && has && now != 0 && old/now == float64(int64(old/now))
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	default:
		return 0, false
	}
}

// composed compares allOf, anyOf, oneOf and not, without asking what they mean
// together: whatever may let less through is breaking.
func (c *comparison) composed(from, to object) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		was, is := from.list(key), to.list(key)
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

// rules compares the rules in CEL. Their messages are for people.
func (c *comparison) rules(from, to object) {
	was, is := celRules(from), celRules(to)
	for _, rule := range is {
		if !slices.Contains(was, rule) {
			c.add("rule-added", true, "the rule %s is added", compact(rule))
		}
	}
	for _, rule := range was {
		if !slices.Contains(is, rule) {
			c.add("rule-removed", false, "the rule %s is removed", compact(rule))
		}
	}
}

func celRules(s object) []string {
	var all []string
	for _, v := range s.list("x-kubernetes-validations") {
		m, _ := v.(map[string]any)
		all = append(all, object(m).text("rule"))
	}
	return all
}

// lists compares what makes elements of a list the same. In a set or map there
// may not be two of them.
func (c *comparison) lists(from, to object) {
	was, is := listType(from), listType(to)
	if was != is {
		c.add("list-type-changed", is != "atomic", "the list is %s, was %s", is, was)
	}
	if was, is := mapType(from), mapType(to); was != is {
		c.add("map-type-changed", false, "the object is %s, was %s", is, was)
	}
}

func listType(s object) string {
	t := s.text("x-kubernetes-list-type")
	switch t {
	case "":
		return "atomic"
	case "map":
		return "a map by " + compact(s.list("x-kubernetes-list-map-keys"))
	default:
		return t
	}
}

func mapType(s object) string {
	if t := s.text("x-kubernetes-map-type"); t != "" {
		return t
	}
	return "granular"
}

// unknown compares what becomes of fields without a name in the schema.
func (c *comparison) unknown(from, to object) {
	if keepsUnknown(from) && !keepsUnknown(to) {
		open := isAny(to.object("additionalProperties"))
		c.add("unknown-fields-dropped", !open, "fields that the schema does not name are not kept any more")
	}
	if keepsUnknown(to) && !keepsUnknown(from) {
		c.add("unknown-fields-kept", false, "fields that the schema does not name are kept")
	}
	if from.object("additionalProperties") != nil && to.object("additionalProperties") == nil && !keepsUnknown(to) {
		c.add("additional-properties-closed", true, "keys of any name are not kept any more")
	}
}

// required compares which fields have to be given: those without a default.
func (c *comparison) required(from, to object) {
	was, is := mustGive(from), mustGive(to)
	for _, name := range is {
		if !slices.Contains(was, name) {
			c.at(name, func() { c.add("field-required", true, "the field has to be given") })
		}
	}
	for _, name := range was {
		if _, there := to.object("properties")[name]; there && !slices.Contains(is, name) {
			c.at(name, func() { c.add("field-optional", false, "the field need not be given") })
		}
	}
}

func mustGive(s object) []string {
	var all []string
	for _, v := range s.list("required") {
		name, _ := v.(string)
		if _, has := s.object("properties").object(name)["default"]; !has {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func orNone(v any) string {
	if v == nil {
		return "none"
	}
	return compact(v)
}

// maxText bounds the characters of a value in a text.
const maxText = 200

// compact is a value as JSON, or its beginning.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "something else"
	}
	text := []rune(string(bytes.TrimSpace(b.Bytes())))
	if len(text) > maxText {
		return string(text[:maxText]) + "…"
	}
	return string(text)
}
