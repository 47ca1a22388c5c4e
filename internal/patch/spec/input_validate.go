package spec

import (
	"fmt"
	"slices"
)

// inOrder returns the error of the first check that fails.
func inOrder(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Validate returns the first thing that is wrong with r, in the words of the
// function: its field, and what there should be. The patches of
// writeConnectionSecretToRef are not looked at.
func (r *Resources) Validate() error {
	for _, s := range r.PatchSets {
		// The real function leaves out where the patch set stands.
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

// ValidatePatch returns the first thing that is wrong with patch i of the set.
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

// ValidatePatch returns the first thing that is wrong with patch i.
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

// environmentTypes are the types of patches that Environment may have.
var environmentTypes = []PatchType{
	FromCompositeFieldPath, ToCompositeFieldPath, CombineFromComposite, CombineToComposite,
	FromEnvironmentFieldPath, ToEnvironmentFieldPath,
}

func (t *Template) validate() error {
	if t.Name == "" {
		return Required("name", "name is required")
	}
	return inOrder(
		func() error {
			return FirstError("patches", len(t.Patches), func(i int) error { return t.Patches[i].Validate() })
		},
		func() error {
			return FirstError("connectionDetails", len(t.ConnectionDetails), func(i int) error { return t.ConnectionDetails[i].Validate() })
		},
		func() error {
			return FirstError("readinessChecks", len(t.ReadinessChecks), func(i int) error { return t.ReadinessChecks[i].Validate() })
		},
	)
}

// Validate returns the first thing that is wrong with p.
func (p *ComposedPatch) Validate() error {
	if p.Type != PatchSetType {
		return p.Patch.Validate()
	}
	if p.PatchSetName == nil || *p.PatchSetName == "" {
		return Required("patchSetName", "patchSetName must be set for patch type PatchSet")
	}
	return p.ValidateRest()
}

// Validate returns the first thing that is wrong with d.
func (d *ConnectionDetail) Validate() error {
	switch {
	case d.Type == "":
		return Required("type", "connection detail type is required")
	case d.Type != FromValue && d.Type != FromConnectionSecretKey && d.Type != FromFieldPath:
		return Invalid("type", d.Type, "unknown connection detail type")
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

// Validate returns the first thing that is wrong with c.
func (c *ReadinessCheck) Validate() error {
	switch c.Type {
	case CheckNone:
		return nil
	case CheckMatchString:
		if c.MatchString == nil {
			return Required("matchString", "cannot be nil for type MatchString")
		}
	case CheckMatchInteger:
		if c.MatchInteger == nil {
			return Required("matchInteger", "cannot be nil for type MatchInteger")
		}
	case CheckMatchCondition:
		if c.MatchCondition == nil {
			return nil
		}
		return UnderPath("matchCondition", c.MatchCondition.validate())
	case CheckNonEmpty, CheckMatchTrue, CheckMatchFalse:
	default:
		return Invalid("type", c.Type, "unknown readiness check type")
	}
	if c.FieldPath == nil {
		return Required("fieldPath", "cannot be empty")
	}
	return nil
}

func (c *MatchCondition) validate() error {
	switch {
	case c.Type == "":
		return Required("type", "cannot be empty for type MatchCondition")
	case c.Status == "":
		return Required("status", "cannot be empty for type MatchCondition")
	default:
		return nil
	}
}
