package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// fieldProblems maps the field in an error of function-patch-and-transform to the
// kind of problem. An error in a field that is not in the map is InvalidInput.
var fieldProblems = map[string]composition.ProblemKind{
	"fromFieldPath": PatchWithoutFrom, "toFieldPath": PatchWithoutTo, "combine": PatchWithoutCombine,
	"matchString": EmptyMatchString, "matchInteger": ZeroMatchInteger, "fieldPath": CheckWithoutFieldPath,
}

func (c *checker) invalid(at string, err error) {
	if err != nil {
		field, text := spec.SplitError(err)
		// function-patch-and-transform reports policy.toFieldPath as
		// policy.toFieldPathPolicy, for example. The field has no suffix "Policy".
		c.add(cmp.Or(fieldProblems[field], InvalidInput), at+"."+strings.TrimSuffix(field, "Policy"), "%s", text)
	}
}

// integrity checks an input by the rules that need no schema.
func (c *checker) integrity(in source) {
	sets := map[string]bool{}
	for i := range in.PatchSets {
		set := &in.PatchSets[i]
		if sets[set.Name] = true; set.Name == "" {
			c.add(PatchSetWithoutName, in.below("patchSets[%d].name", i), "no name is set")
		}
		for j := range set.Patches {
			c.patchIntegrity(in, in.below("patchSets[%d].patches[%d]", i, j), &set.Patches[j], set.ValidatePatch(j))
		}
	}
	c.templatesIntegrity(in, sets)
	patches := in.environmentPatches()
	for i := range patches {
		c.patchIntegrity(in, in.below("environment.patches[%d]", i), &patches[i], in.Environment.ValidatePatch(i))
	}
	if len(in.Resources.Resources) == 0 && len(patches) == 0 {
		c.add(EmptyResources, in.below("resources"), "an input without environment patches must have resources")
	}
	// function-patch-and-transform validates the patches of writeConnectionSecretToRef only
	// when it applies them. Here they are always validated.
	secretPatches := in.secretPatches()
	for i := range secretPatches {
		p, at := &secretPatches[i], in.below("writeConnectionSecretToRef.patches[%d]", i)
		if ofSecret(p) {
			c.patchIntegrity(in, at, p, p.Validate())
		} else {
			c.add(InvalidInput, at+".type", "expected patch type FromCompositeFieldPath or CombineFromComposite, got %q", p.Type)
		}
	}
}

func (c *checker) templatesIntegrity(in source, sets map[string]bool) {
	names := map[string]int{}
	for i := range in.Resources.Resources {
		t, at := &in.Resources.Resources[i], in.below("resources[%d]", i)
		c.templateName(in, at, t, names)
		if _, ok := names[t.Name]; !ok {
			names[t.Name] = i
		}
		for j := range t.Patches {
			p := &t.Patches[j]
			at := fmt.Sprintf("%s.patches[%d]", at, j)
			if p.Type != spec.PatchSetType {
				c.patchIntegrity(in, at, &p.Patch, p.Validate())
				continue
			}
			c.invalid(at, p.Validate())
			if name := p.PatchSetName; name != nil && *name != "" && !sets[*name] {
				next := ": add it to patchSets"
				if near := hint.Nearest(*name, slices.Sorted(maps.Keys(sets))); near != "" {
					next = hint.DidYouMean(near)
				}
				c.add(InvalidInput, at+".patchSetName", "patch set %q does not exist%s", *name, next)
			}
		}
		c.insideBase(at, t)
		for j := range t.ConnectionDetails {
			c.invalid(fmt.Sprintf("%s.connectionDetails[%d]", at, j), t.ConnectionDetails[j].Validate())
		}
		for j := range t.ReadinessChecks {
			c.readinessIntegrity(in, fmt.Sprintf("%s.readinessChecks[%d]", at, j), &t.ReadinessChecks[j])
		}
	}
}

// templateName checks that a template has a unique name. In a pipeline, a second
// template may have the same name if it has no base.
func (c *checker) templateName(in source, at string, t *spec.Template, names map[string]int) {
	first, twice := names[t.Name]
	lost := ", whose resource is lost"
	if in.legacy {
		lost = "" // the API server refuses the Composition
	}
	switch {
	case t.Name == "":
		c.add(ResourceWithoutName, at+".name", "no name is set")
	case twice && (in.legacy || hasBase(t)):
		c.add(DuplicateResource, at+".name", "the name %q is also the name of %s%s: rename one", t.Name, in.below("resources[%d]", first), lost)
	}
}

// insideBase reports patches, readiness checks and connection details that are in the base of a template,
// and not beside it. No kind has a field with such elements at its root.
func (c *checker) insideBase(at string, t *spec.Template) {
	var base struct{ Patches, ConnectionDetails, ReadinessChecks json.RawMessage }
	if !bytes.Contains(t.Base, []byte(`"patches"`)) && !bytes.Contains(t.Base, []byte(`"readinessChecks"`)) && !bytes.Contains(t.Base, []byte(`"connectionDetails"`)) || json.Unmarshal(t.Base, &base) != nil {
		return
	}
	for _, field := range []struct {
		name string
		text json.RawMessage
		keys []string
	}{
		{"patches", base.Patches, []string{"fromFieldPath", "toFieldPath", "patchSetName", "combine"}},
		{"connectionDetails", base.ConnectionDetails, []string{"fromConnectionSecretKey", "fromFieldPath"}},
		{"readinessChecks", base.ReadinessChecks, []string{"fieldPath", "matchString", "matchCondition"}},
	} {
		var elements []map[string]json.RawMessage
		if json.Unmarshal(field.text, &elements) == nil && slices.ContainsFunc(elements, func(e map[string]json.RawMessage) bool {
			return slices.ContainsFunc(field.keys, func(key string) bool { return e[key] != nil })
		}) {
			c.add(InsideBase, at+".base."+field.name, "%s is a field of the composed resource here, and has no effect: indent it like base", field.name)
		}
	}
}

func hasBase(t *spec.Template) bool { return len(t.Base) > 0 && string(t.Base) != "null" }

// patchIntegrity reports the errors in a patch. err is the first error that
// function-patch-and-transform returns for the patch. The function may stop there before it
// validates transforms and policies, so patchIntegrity validates them, too.
func (c *checker) patchIntegrity(in source, at string, p *spec.Patch, err error) {
	c.invalid(at, err)
	if rest := p.ValidateRest(); rest != nil && (err == nil || rest.Error() != err.Error()) {
		c.invalid(at, rest)
	}
	if in.legacy && err == nil && p.Type.IsCombine() && p.ToFieldPath == nil {
		c.add(PatchWithoutTo, at+".toFieldPath", "toFieldPath must be set for patch type %s", p.Type)
	}
	for i := range p.Transforms {
		c.transformIntegrity(fmt.Sprintf("%s.transforms[%d]", at, i), &p.Transforms[i])
	}
}

// transformIntegrity reports a transform that fails for every value.
func (c *checker) transformIntegrity(at string, t *spec.Transform) {
	if s := t.String; t.Type == spec.TransformString && s != nil && s.Type == spec.ConvertString && s.Convert != nil && !patch.ConvertsText(*s.Convert) {
		c.add(InvalidInput, at+".string.convert", "unknown string conversion %q", *s.Convert)
	}
	if to := t.Convert; t.Type == spec.TransformConvert && to != nil && to.Validate() == nil {
		if needs, _ := convertible(to); needs == 0 {
			c.add(InvalidInput, at+".convert.format", "%s", neverConverts(to))
		}
	}
	if t.Type == spec.TransformMatch && t.Match != nil {
		c.matchIntegrity(at+".match", t.Match)
	}
}

// neverConverts returns the message for a conversion that fails for every value.
func neverConverts(t *spec.Convert) string {
	format := spec.FormatNone
	if t.Format != nil {
		format = *t.Format
	}
	text := fmt.Sprintf("the format %[2]s cannot convert a value to %[1]s", t.ToType, format)
	if t.ToType == spec.ToObject || t.ToType == spec.ToArray {
		text += "; the format json converts a string"
	}
	return text
}

func (c *checker) matchIntegrity(at string, m *spec.Match) {
	for i, p := range m.Patterns {
		if p.Type == "" {
			c.add(InvalidInput, fmt.Sprintf("%s.patterns[%d].type", at, i), "a pattern must have the type literal or regexp")
		}
	}
	if m.FallbackTo == spec.FallbackToInput && jsonTypes(m.FallbackValue) != schema.Null {
		c.add(InvalidInput, at+".fallbackTo", "fallbackValue must not be set if fallbackTo is Input")
	}
}

// readinessIntegrity validates a readiness check. If matchString, matchInteger or
// fieldPath is set to "" or 0, a pipeline gets only a warning, because
// function-patch-and-transform accepts these values.
func (c *checker) readinessIntegrity(in source, at string, r *spec.ReadinessCheck) {
	err := r.Validate()
	c.invalid(at, err)
	empty := func(kind composition.ProblemKind, field, text string) { c.note(!in.legacy, kind, at+"."+field, text) }
	switch {
	case r.Type == spec.CheckMatchString && r.MatchString != nil && *r.MatchString == "":
		empty(EmptyMatchString, "matchString", "the string to match is empty")
	case r.Type == spec.CheckMatchInteger && r.MatchInteger != nil && *r.MatchInteger == 0:
		empty(ZeroMatchInteger, "matchInteger", "the integer to match is 0")
	case r.Type == spec.CheckMatchCondition && r.MatchCondition == nil:
		c.add(InvalidInput, at+".matchCondition", "no condition is set for type MatchCondition")
	}
	switch r.Type {
	case spec.CheckNonEmpty, spec.CheckMatchString, spec.CheckMatchInteger, spec.CheckMatchTrue, spec.CheckMatchFalse:
	default:
		return
	}
	if r.FieldPath == nil {
		// Validate returns only the first error, which may be of another field.
		if field, _ := spec.SplitError(err); field != "fieldPath" {
			c.add(CheckWithoutFieldPath, at+".fieldPath", "no path is set for type %s", r.Type)
		}
	} else if *r.FieldPath == "" {
		empty(CheckWithoutFieldPath, "fieldPath", "the path is empty, so it refers to the whole resource")
	}
}

func ofSecret(p *spec.Patch) bool {
	t := p.TypeOrDefault()
	return t == spec.FromCompositeFieldPath || t == spec.CombineFromComposite
}
