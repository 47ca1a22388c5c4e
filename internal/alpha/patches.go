package alpha

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

func (c *Composition) compile(in *input) error {
	sets := map[string][]compiledPatch{}
	for i, set := range in.PatchSets {
		patches, err := compilePatches(fmt.Sprintf("spec.patchSets[%d]", i), composedTypes, set.Patches, nil, patch.Most)
		if err != nil {
			return err
		}
		sets[set.Name] = patches
	}
	var err error
	if c.environment, err = compilePatches("spec.environment", environmentTypes, in.Environment.Patches, nil, patch.Most); err != nil {
		return err
	}
	count := 0
	for i, r := range in.Resources {
		t := template{name: r.Name, base: r.Base, details: r.ConnectionDetails, checks: r.ReadinessChecks}
		if t.patches, err = compilePatches(fmt.Sprintf("spec.resources[%d]", i), composedTypes, r.Patches, sets, patch.Most-count); err != nil {
			return err
		}
		count += len(t.patches)
		for i := range t.checks { // In a FunctionIO, fields that are empty or 0 are not set.
			check := &t.checks[i]
			check.FieldPath, check.MatchString, check.MatchInteger = notZero(check.FieldPath), notZero(check.MatchString), notZero(check.MatchInteger)
		}
		c.templates = append(c.templates, t)
	}
	return nil
}

// The supported types of environment patches and of patches in a template. A
// template may also have patches of type PatchSet.
var (
	environmentTypes = []spec.PatchType{
		spec.FromCompositeFieldPath, spec.ToCompositeFieldPath, spec.CombineFromComposite, spec.CombineToComposite,
	}
	composedTypes = append(slices.Clone(environmentTypes),
		spec.FromEnvironmentFieldPath, spec.ToEnvironmentFieldPath, spec.CombineFromEnvironment, spec.CombineToEnvironment)
)

// compilePatches compiles the patches below the path at. It replaces each patch
// of type PatchSet by the patches of its set in sets. If sets is nil, such a
// patch is an error. The result has at most most patches.
func compilePatches(at string, types []spec.PatchType, raws []json.RawMessage, sets map[string][]compiledPatch, most int) ([]compiledPatch, error) {
	var all []compiledPatch
	for i, raw := range raws {
		at := fmt.Sprintf("%s.patches[%d]", at, i)
		var p struct {
			spec.Patch   `json:",inline"`
			PatchSetName *string `json:"patchSetName"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, &FieldError{at, fmt.Errorf("decoding: %w", err)}
		}
		if p.Type != spec.PatchSetType {
			if err := check(&p.Patch, types); err != nil {
				return nil, under(at, err)
			}
			all = append(all, compiledPatch{patch.Compile(&p.Patch), missing(&p.Patch)})
			continue
		}
		set, err := patchSet(p.PatchSetName, sets)
		if err != nil {
			return nil, fmt.Errorf("cannot patch and transform: cannot inline Composition patch sets: %w", err)
		}
		if all = append(all, set...); len(all) > most {
			return nil, fault(at, "the resources have more than %d patches", patch.Most)
		}
	}
	return all, nil
}

func patchSet(name *string, sets map[string][]compiledPatch) ([]compiledPatch, error) {
	switch {
	case sets == nil:
		return nil, errors.New("a patch in a PatchSet cannot be of type PatchSet")
	case name == nil:
		return nil, errors.New("PatchSetName is required by type PatchSet")
	}
	set, ok := sets[*name]
	if !ok {
		return nil, fmt.Errorf("cannot find PatchSet by name %s", *name)
	}
	return set, nil
}

// check returns an error if the type of the patch is not in types, or if a string
// transform needs Crossplane v1.14 or later. Any other error in a patch is found
// when the patch is applied.
func check(p *spec.Patch, types []spec.PatchType) error {
	if !slices.Contains(types, p.TypeOrDefault()) {
		return fault("type", "patch type %q is not allowed in this list of patches", p.Type)
	}
	for i, t := range p.Transforms {
		if s := t.String; s != nil && (s.Type == spec.JoinList || s.Type == spec.ReplaceAll) {
			return fault(fmt.Sprintf("transforms[%d].string.type", i), "string transform %q needs Crossplane v1.14 or later", s.Type)
		}
	}
	return nil
}

// missing returns an error if a required field of the patch is not set.
func missing(p *spec.Patch) error {
	field := ""
	switch combines := p.TypeOrDefault().IsCombine(); {
	case !combines && p.FromFieldPath == nil:
		field = "FromFieldPath"
	case !combines:
		return nil
	case p.Combine == nil:
		field = "Combine"
	case p.ToFieldPath == nil:
		field = "ToFieldPath"
	case len(p.Combine.Variables) == 0:
		return errors.New("combine patch types require at least one variable")
	default:
		return nil
	}
	return fmt.Errorf("%s is required by type %s", field, p.TypeOrDefault())
}
