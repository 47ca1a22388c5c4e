package spec

import (
	"fmt"
	"slices"
)

// Validate returns the first error in p, with the same text as
// function-patch-and-transform. p must not be of type PatchSet.
func (p *Patch) Validate() error {
	switch t := p.TypeOrDefault(); t {
	case FromCompositeFieldPath, ToCompositeFieldPath, FromEnvironmentFieldPath, ToEnvironmentFieldPath:
		if p.FromFieldPath == nil || *p.FromFieldPath == "" {
			return Required("fromFieldPath", fmt.Sprintf("fromFieldPath must be set for patch type %s", t))
		}
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		// function-patch-and-transform does not validate the transforms and policies
		// of Combine patches. Invalid ones fail when they are used.
		return p.validateCombine()
	default:
		return Invalid("type", t, "unknown patch type")
	}
	return p.ValidateRest()
}

// ValidateRest returns the first error in the transforms and policies of p.
// Validate does not check them for Combine types.
func (p *Patch) ValidateRest() error {
	if err := FirstError("transforms", len(p.Transforms), func(i int) error { return p.Transforms[i].validate() }); err != nil {
		return err
	}
	switch p.Over() {
	case Replace, MergeObjects, MergeObjectsAppendArrays, ForceMergeObjects, ForceMergeObjectsAppendArrays, MergeObject, AppendArray:
	default:
		return Invalid("policy.toFieldPathPolicy", p.Over(), "unknown toFieldPathPolicy")
	}
	switch p.From() {
	case FromOptional, FromRequired:
		return nil
	default:
		return Invalid("policy.fromFieldPathPolicy", p.From(), "unknown fromFieldPathPolicy")
	}
}

func (p *Patch) validateCombine() error {
	if p.Combine == nil {
		return Required("combine", fmt.Sprintf("combine must be set for patch type %s", p.Type))
	}
	if p.To() == "" {
		return Required("toFieldPath", fmt.Sprintf("toFieldPath must be set for patch type %s", p.Type))
	}
	return UnderPath("combine", p.Combine.validate())
}

func (c *Combine) validate() error {
	switch c.Strategy {
	case CombineByString:
		if c.String == nil {
			return Required("string", "string must be set for combine strategy string")
		}
	case "":
		return Required("strategy", "a combine strategy must be provided")
	default:
		return Invalid("strategy", c.Strategy, "unknown strategy type")
	}
	if len(c.Variables) == 0 {
		return Required("variables", "at least one variable must be provided")
	}
	return FirstError("variables", len(c.Variables), func(i int) error {
		return requireIf(c.Variables[i].FromFieldPath == "", "fromFieldPath", "fromFieldPath must be set for each combine variable")
	})
}

// Validate returns the first error in r, with the same text as
// function-patch-and-transform. It does not check the patches of
// writeConnectionSecretToRef.
func (r *Resources) Validate() error {
	for _, s := range r.PatchSets {
		// The error of function-patch-and-transform does not contain the path of the
		// patch set.
		if err := s.validate(); err != nil {
			return err
		}
	}
	if len(r.Resources) == 0 && (r.Environment == nil || len(r.Environment.Patches) == 0) {
		return Required("resources", "resources or environment patches are required")
	}
	if err := FirstError("resources", len(r.Resources), func(i int) error { return r.Resources[i].validate() }); err != nil {
		return err
	}
	if r.Environment == nil {
		return nil
	}
	return UnderPath("environment", r.Environment.validate())
}

func (s *PatchSet) validate() error {
	if s.Name == "" {
		return Required("name", "name is required")
	}
	return FirstError("patches", len(s.Patches), s.ValidatePatch)
}

// ValidatePatch returns the first error in patch number i of the patch set.
func (s *PatchSet) ValidatePatch(i int) error {
	p := &s.Patches[i]
	if p.Type == PatchSetType {
		return Invalid("type", p.Type, "patch type *v1beta1.PatchSetPatch does not support patch of type PatchSet")
	}
	return p.Validate()
}

func (e *Environment) validate() error {
	for i := range e.Patches {
		if p := &e.Patches[i]; !inEnvironment(p) {
			return notInEnvironment(fmt.Sprintf("patches[%d][type]", i), p)
		}
		if err := e.ValidatePatch(i); err != nil {
			return UnderPath(fmt.Sprintf("patches[%d]", i), err)
		}
	}
	return nil
}

// ValidatePatch returns the first error in patch number i of the environment.
func (e *Environment) ValidatePatch(i int) error {
	p := &e.Patches[i]
	if !inEnvironment(p) {
		return notInEnvironment("type", p)
	}
	return p.Validate()
}

func inEnvironment(p *Patch) bool { return slices.Contains(environmentTypes, p.TypeOrDefault()) }

func notInEnvironment(path string, p *Patch) error {
	return Invalid(path, p.Type, "invalid environment patch type")
}

var environmentTypes = []PatchType{
	FromCompositeFieldPath, ToCompositeFieldPath, CombineFromComposite, CombineToComposite,
	FromEnvironmentFieldPath, ToEnvironmentFieldPath,
}

func (t *Template) validate() error {
	if t.Name == "" {
		return Required("name", "name is required")
	}
	if err := FirstError("patches", len(t.Patches), func(i int) error { return t.Patches[i].Validate() }); err != nil {
		return err
	}
	if err := FirstError("connectionDetails", len(t.ConnectionDetails), func(i int) error { return t.ConnectionDetails[i].Validate() }); err != nil {
		return err
	}
	return FirstError("readinessChecks", len(t.ReadinessChecks), func(i int) error { return t.ReadinessChecks[i].Validate() })
}

// Validate returns the first error in p.
func (p *ComposedPatch) Validate() error {
	if p.Type != PatchSetType {
		return p.Patch.Validate()
	}
	if p.PatchSetName == nil || *p.PatchSetName == "" {
		return Required("patchSetName", "patchSetName must be set for patch type PatchSet")
	}
	return p.ValidateRest()
}

// Validate returns the first error in d.
func (d *ConnectionDetail) Validate() error {
	switch {
	case d.Type == "":
		return Required("type", "connection detail type is required")
	case d.Type != FromValue && d.Type != FromConnectionSecretKey && d.Type != FromFieldPath:
		return Invalid("type", string(d.Type), "unknown connection detail type")
	case d.Name == "":
		return Required("name", "name is required")
	case d.Type == FromValue && d.Value == nil:
		return Required("value", "value connection detail requires a value")
	case d.Type == FromConnectionSecretKey && d.FromConnectionSecretKey == nil:
		return Required("fromConnectionSecretKey", "from connection secret key connection detail requires a key")
	case d.Type == FromFieldPath && d.FromFieldPath == nil:
		return Required("fromFieldPath", "from field path connection detail requires a field path")
	default:
		return nil
	}
}

// Validate returns the first error in c.
func (c *ReadinessCheck) Validate() error {
	var err error
	switch c.Type {
	case CheckNone:
		return nil
	case CheckMatchCondition:
		if c.MatchCondition == nil {
			return nil
		}
		return UnderPath("matchCondition", c.MatchCondition.validate())
	case CheckMatchString:
		err = requireIf(c.MatchString == nil, "matchString", "cannot be nil for type MatchString")
	case CheckMatchInteger:
		err = requireIf(c.MatchInteger == nil, "matchInteger", "cannot be nil for type MatchInteger")
	case CheckNonEmpty, CheckMatchTrue, CheckMatchFalse:
	default:
		return Invalid("type", string(c.Type), "unknown readiness check type")
	}
	if err != nil {
		return err
	}
	return requireIf(c.FieldPath == nil, "fieldPath", "cannot be empty")
}

func (c *MatchCondition) validate() error {
	if c.Type == "" {
		return Required("type", "cannot be empty for type MatchCondition")
	}
	return requireIf(c.Status == "", "status", "cannot be empty for type MatchCondition")
}
