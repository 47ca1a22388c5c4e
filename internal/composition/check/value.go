package check

import (
	"encoding/json"
	"fmt"

	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A value describes the possible values that a patch copies.
type value struct {
	types schema.Types
	// node is the schema of the value. It is zero for the output of a transform.
	node schema.Node
	// what describes the value in messages, such as "the combined value".
	what string
}

// change returns the types that a transform can return for an input of one of the types
// in the set in. If the transform fails for all of these types, why is the reason.
func change(t *spec.Transform, in schema.Types) (out schema.Types, why string) {
	needs, out := schema.Any, schema.Any
	switch {
	case t.Type == spec.TransformMap && t.Map != nil:
		needs, out = schema.String, 0
		for _, result := range t.Map {
			out |= jsonTypes(result)
		}
	case t.Type == spec.TransformMatch && t.Match != nil:
		needs, out = schema.String, matched(t.Match)
	case t.Type == spec.TransformMath && t.Math != nil:
		if needs, out = schema.Number, schema.Integer; in&schema.Fraction != 0 {
			out = schema.Number
		}
	case t.Type == spec.TransformString && t.String != nil:
		out = schema.String
		if t.String.Type == spec.JoinList {
			needs = schema.Array
		}
	case t.Type == spec.TransformConvert && t.Convert != nil:
		needs, out = convertible(t.Convert)
	}
	if needs == 0 {
		return schema.Any, ""
	}
	if in&needs == 0 {
		return schema.Any, fmt.Sprintf("this %s transform requires %s, got %s", t.Type, needs, in)
	}
	return out, ""
}

func matched(m *spec.Match) (out schema.Types) {
	for _, p := range m.Patterns {
		out |= jsonTypes(p.Result)
	}
	if m.FallbackTo == spec.FallbackToInput {
		return out | schema.String
	}
	return out | jsonTypes(m.FallbackValue)
}

// convertible returns the types that a conversion accepts, and the types that it can return.
func convertible(c *spec.Convert) (needs, out schema.Types) {
	for from, types := range map[spec.ConvertType]schema.Types{
		// A whole number may be an int64 or a float64.
		spec.ToString: schema.String, spec.ToBool: schema.Boolean, spec.ToInt64: schema.Integer, spec.ToFloat64: schema.Number,
	} {
		if patch.Converts(from, c) {
			needs |= types
		}
	}
	out, ok := convertedTypes[c.ToType]
	if !ok {
		return schema.Any, schema.Any
	}
	return needs, out
}

var convertedTypes = map[spec.ConvertType]schema.Types{
	spec.ToString: schema.String, spec.ToInt: schema.Integer, spec.ToInt64: schema.Integer, spec.ToBool: schema.Boolean,
	spec.ToFloat64: schema.Number, spec.ToObject: schema.Object | schema.Null, spec.ToArray: schema.Array | schema.Null,
}

// jsonTypes returns the type of a JSON value. An empty text counts as null.
func jsonTypes(raw json.RawMessage) schema.Types {
	if len(raw) == 0 {
		return schema.Null
	}
	switch raw[0] {
	case '"':
		return schema.String
	case '{':
		return schema.Object
	case '[':
		return schema.Array
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return schema.Fraction // The JSON is valid, but a number in it is out of range.
	}
	return typeOf(v)
}

// A pair is the schema of a patch's source and the schema of its target, at the same
// path below both.
type pair struct {
	from, to schema.Node
	at       string
}

// mostPairs limits how many schema nodes are compared for one patch.
const mostPairs = 10_000

// misfitIn compares the schemas from and to, and returns the first pair of schemas that
// have no type in common, or nil. Optional fields that to does not define are ignored.
func misfitIn(from, to schema.Node) *pair {
	todo := []pair{{from, to, ""}}
	for n := 0; len(todo) > 0 && n < mostPairs; n++ {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		a, b := p.from.Types()&^schema.Null, p.to.Types()&^schema.Null
		both := a & b
		switch {
		case both == 0:
			return &p
		case a|schema.Null == schema.Any, b|schema.Null == schema.Any:
		case both&schema.Array != 0:
			todo = append(todo, pair{p.from.Element(), p.to.Element(), p.at + "[*]"})
		case both&schema.Object != 0:
			more, lost := fields(p)
			if lost != nil {
				return lost
			}
			todo = append(todo, more...)
		}
	}
	return nil
}

// fields returns a pair for each field that both objects of p define. If p.from
// requires a field that p.to does not define, lost is that field.
func fields(p pair) (all []pair, lost *pair) {
	for _, name := range p.from.Named() {
		from, _ := p.from.Field(name)
		to, ok := p.to.Field(name)
		at := p.at + "." + name
		switch {
		case ok:
			all = append(all, pair{from, to, at})
		case p.from.Always(name):
			return nil, &pair{from, schema.Node{}, at}
		}
	}
	from, hasRest := p.from.Rest()
	if to, ok := p.to.Rest(); ok && hasRest {
		all = append(all, pair{from, to, p.at + "[*]"})
	}
	return all, nil
}
