package legacy

import (
	"encoding/json"
	"fmt"
	"slices"

	pt "github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
)

// drop adds the note about an unknown field, with the field that is meant.
func (c *converter) drop(field, meant string) {
	c.notes = append(c.notes, Note{Field: field, Text: "unknown field: the API server drops it" + meant, IsDropped: true})
}

// plainPatches converts patches that must not refer to a patch set.
func (c *converter) plainPatches(at string, all []patch) {
	for i := range all {
		at := fmt.Sprintf("%s[%d]", at, i)
		if all[i].PatchSetName != nil {
			c.drop(at+".patchSetName", "")
			all[i].PatchSetName = nil
		}
		c.patch(at, &all[i])
	}
}

func (c *converter) patch(at string, p *patch) {
	p.Type = p.TypeOrDefault()
	c.policy(at+".policy", p)
	if p.Combine != nil && p.Combine.String != nil {
		c.checkFormat(at+".combine.string.fmt", p.Combine.String.Format)
	}
	integer := false
	for i := range p.Transforms {
		t := &p.Transforms[i]
		complete(t)
		if t.String != nil && t.String.Format != nil && t.Type == pt.TransformString && t.String.Type == pt.Format && !integer {
			c.checkFormat(fmt.Sprintf("%s.transforms[%d].string.fmt", at, i), *t.String.Format)
		}
		integer = isInteger(t, integer)
	}
}

// policy converts merge options to policy.toFieldPath:
//
//	keepMapValues  appendSlice  policy.toFieldPath
//	false          false        ForceMergeObjects
//	true           false        MergeObjects
//	false          true         ForceMergeObjectsAppendArrays
//	true           true         MergeObjectsAppendArrays
//
// Without merge options, a patch replaces the existing value. This is also the
// default of policy.toFieldPath.
func (c *converter) policy(at string, p *patch) {
	if p.Policy.ToFieldPath != "" {
		c.drop(at+".toFieldPath", "")
		p.Policy.ToFieldPath = ""
	}
	merge := p.Policy.MergeOptions
	p.Policy.MergeOptions = nil
	switch {
	case merge == nil:
	case p.Type.IsCombine():
		// Combine patches of a legacy Composition never merge. With a value for
		// policy.toFieldPath, they would merge in the pipeline.
		c.note(at+".mergeOptions", "a patch of type %s ignores merge options and replaces the existing value, so they are left out", p.Type)
	case merge.KeepMapValues && merge.AppendSlice:
		p.Policy.ToFieldPath = pt.MergeObjectsAppendArrays
	case merge.KeepMapValues:
		p.Policy.ToFieldPath = pt.MergeObjects
	case merge.AppendSlice:
		p.Policy.ToFieldPath = pt.ForceMergeObjectsAppendArrays
	default:
		p.Policy.ToFieldPath = pt.ForceMergeObjects
	}
}

// complete sets the types that a transform omits. An omitted type is inferred
// from the field that is set, such as map for the field map. If no field is set,
// it is the default type.
func complete(t *pt.Transform) {
	infer(&t.Type, "", []choice[pt.TransformType]{
		{pt.TransformMap, t.Map != nil},
		{pt.TransformMatch, t.Match != nil},
		{pt.TransformMath, t.Math != nil},
		{pt.TransformString, t.String != nil},
		{pt.TransformConvert, t.Convert != nil},
	})
	if m := t.Math; m != nil {
		infer(&m.Type, pt.Multiply, []choice[pt.MathType]{{pt.Multiply, m.Multiply != nil}, {pt.ClampMin, m.ClampMin != nil}, {pt.ClampMax, m.ClampMax != nil}})
	}
	if s := t.String; s != nil {
		infer(&s.Type, pt.Format, []choice[pt.StringType]{
			{pt.Format, s.Format != nil},
			{pt.ConvertString, s.Convert != nil},
			{pt.RegexpMatch, s.Regexp != nil},
			{pt.JoinList, s.Join != nil},
			{pt.ReplaceAll, s.Replace != nil},
		})
	}
	if t.Match == nil {
		return
	}
	t.Match.FallbackValue = orNull(t.Match.FallbackValue)
	for i := range t.Match.Patterns {
		p := &t.Match.Patterns[i]
		infer(&p.Type, pt.MatchLiteral, []choice[pt.PatternType]{{pt.MatchLiteral, p.Literal != nil}, {pt.MatchRegexp, p.Regexp != nil}})
		p.Result = orNull(p.Result)
	}
}

// orNull returns raw, or the JSON null if raw is missing, as the crossplane CLI does.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// A choice is a type, and whether the field that the type requires is set.
type choice[T ~string] struct {
	name T
	fits bool
}

// infer sets an empty type to the first choice that fits, or to byDefault.
func infer[T ~string](chosen *T, byDefault T, choices []choice[T]) {
	if *chosen != "" {
		return
	}
	*chosen = byDefault
	if i := slices.IndexFunc(choices, func(c choice[T]) bool { return c.fits }); i >= 0 {
		*chosen = choices[i].name
	}
}

// isInteger reports whether the output of the transform is an integer. before
// says whether the input of the transform is an integer.
func isInteger(t *pt.Transform, before bool) bool {
	switch {
	case t.Type == pt.TransformMath:
		return before
	case t.Type == pt.TransformConvert && t.Convert != nil:
		return t.Convert.ToType == pt.ToInt || t.Convert.ToType == pt.ToInt64
	default:
		return false
	}
}

// integerVerb matches %% and each formatting verb of package fmt that prints
// integers but not floats, such as %b.
var integerVerb = proc.Regexp(`%%|%[-+# 0-9.*\[\]]*[bcdoOU]`)

// checkFormat adds a note if a format has a verb for integers, because
// function-patch-and-transform passes numbers as floats.
func (c *converter) checkFormat(at, format string) {
	for _, verb := range integerVerb().FindAllString(format, -1) {
		if verb != "%%" {
			c.note(at, "function-patch-and-transform decodes each number as a float, which %s does not print as an integer: use %%.0f", verb)
			return
		}
	}
}
