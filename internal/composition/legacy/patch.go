package legacy

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// dropped is said of a field that a legacy Composition does not have.
const dropped = "there is no such field, so the API server drops it"

// plainPatches are those that cannot stand for a patch set.
func (c *converter) plainPatches(at string, all []patch) {
	for i := range all {
		at := fmt.Sprintf("%s[%d]", at, i)
		if all[i].PatchSetName != nil {
			c.note(at+".patchSetName", dropped)
			all[i].PatchSetName = nil
		}
		c.patch(at, &all[i])
	}
}

func (c *converter) patch(at string, p *patch) {
	if p.Type == "" {
		p.Type = "FromCompositeFieldPath"
	}
	c.policy(at+".policy", p)
	if p.Combine != nil && p.Combine.String != nil {
		c.checkFormat(at+".combine.string.fmt", p.Combine.String.Format)
	}
	integer := false
	for i := range p.Transforms {
		t := &p.Transforms[i]
		t.complete()
		if t.String != nil && t.String.Format != nil && t.Type == "string" && t.String.Type == "Format" && !integer {
			c.checkFormat(fmt.Sprintf("%s.transforms[%d].string.fmt", at, i), *t.String.Format)
		}
		integer = t.isInteger(integer)
	}
}

// policy makes merge options a policy for the target. They are the options of
// the merge that the function makes, too:
//
//	keepMapValues  appendSlice  policy.toFieldPath
//	false          false        ForceMergeObjects
//	true           false        MergeObjects
//	false          true         ForceMergeObjectsAppendArrays
//	true           true         MergeObjectsAppendArrays
//
// Without merge options a value replaces what there is, which needs no policy.
func (c *converter) policy(at string, p *patch) {
	if p.Policy.ToFieldPath != "" {
		c.note(at+".toFieldPath", dropped)
		p.Policy.ToFieldPath = ""
	}
	merge := p.Policy.MergeOptions
	p.Policy.MergeOptions = nil
	switch {
	case merge == nil:
	case strings.HasPrefix(p.Type, "Combine"):
		// With a policy it would merge all of a sudden.
		c.note(at+".mergeOptions", "a patch of type %s never heeded them and replaces what there is, so they are left out", p.Type)
	case merge.KeepMapValues && merge.AppendSlice:
		p.Policy.ToFieldPath = "MergeObjectsAppendArrays"
	case merge.KeepMapValues:
		p.Policy.ToFieldPath = "MergeObjects"
	case merge.AppendSlice:
		p.Policy.ToFieldPath = "ForceMergeObjectsAppendArrays"
	default:
		p.Policy.ToFieldPath = "ForceMergeObjects"
	}
}

// complete infers the types that a transform leaves out. Where the schema has a
// default that cannot be meant, since what it needs is not there, it is the
// type whose field is.
func (t *transform) complete() {
	t.Type = otherwise(t.Type, "", []choice{
		{"map", t.Map != nil}, {"match", t.Match != nil}, {"math", t.Math != nil}, {"string", t.String != nil}, {"convert", t.Convert != nil},
	})
	if m := t.Math; m != nil {
		m.Type = otherwise(m.Type, "Multiply", []choice{
			{"Multiply", m.Multiply != nil}, {"ClampMin", m.ClampMin != nil}, {"ClampMax", m.ClampMax != nil},
		})
	}
	if s := t.String; s != nil {
		s.Type = otherwise(s.Type, "Format", []choice{
			{"Format", s.Format != nil},
			{"Convert", s.Convert != nil},
			{"Regexp", s.Regexp != nil},
			{"Join", s.Join != nil},
			{"Replace", s.Replace != nil},
		})
	}
	if t.Match != nil {
		for i := range t.Match.Patterns {
			p := &t.Match.Patterns[i]
			p.Type = otherwise(p.Type, "literal", []choice{{"literal", p.Literal != nil}, {"regexp", p.Regexp != nil}})
		}
	}
}

// A choice is a type, and whether what it needs is there.
type choice struct {
	name string
	fits bool
}

// otherwise returns the name that was chosen, else the first that fits, else the
// default.
func otherwise(chosen, byDefault string, choices []choice) string {
	if chosen != "" {
		return chosen
	}
	for _, c := range choices {
		if c.fits {
			return c.name
		}
	}
	return byDefault
}

// isInteger reports whether the transform makes a number that is no float, for
// which before says whether it gets one.
func (t *transform) isInteger(before bool) bool {
	switch {
	case t.Type == "math":
		return before
	case t.Type == "convert" && t.Convert != nil:
		return t.Convert.ToType == "int" || t.Convert.ToType == "int64"
	default:
		return false
	}
}

// integerVerb is a verb of Go's package fmt that a float does not fit, or %%.
var integerVerb = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%%|%[-+# 0-9.*\[\]]*[bcdoOU]`) })

// checkFormat notes a format that takes integers: where Crossplane had them, the
// function has floats.
func (c *converter) checkFormat(at, format string) {
	for _, verb := range integerVerb().FindAllString(format, -1) {
		if verb != "%%" {
			c.note(at, "function-patch-and-transform takes every number for a float, which %s does not print as an integer: %%.0f does", verb)
			return
		}
	}
}
