package input

import (
	"fmt"
	"slices"
)

// A fieldError says what is wrong with a field, in the words of the API server.
type fieldError struct {
	path, detail string
}

func (e *fieldError) Error() string { return e.path + ": " + e.detail }

func required(path, text string) error {
	return &fieldError{path, "Required value: " + text}
}

func invalid[T ~string](path string, value T, text string) error {
	return &fieldError{path, fmt.Sprintf("Invalid value: %q: %s", string(value), text)}
}

// under puts a path before that of an error.
func under(path string, err error) error {
	if e, ok := err.(*fieldError); ok {
		return &fieldError{path + "." + e.path, e.detail}
	}
	return err
}

// first calls check for each of n elements of the list at path until one fails.
func first(path string, n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return under(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	return nil
}

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
		return required("resources", "resources or environment patches are required")
	}
	if err := first("resources", len(r.Resources), func(i int) error { return r.Resources[i].validate() }); err != nil {
		return err
	}
	if r.Environment == nil {
		return nil
	}
	return under("environment", r.Environment.validate())
}

func (s *PatchSet) validate() error {
	if s.Name == "" {
		return required("name", "name is required")
	}
	return first("patches", len(s.Patches), func(i int) error {
		p := &s.Patches[i]
		if p.Type == PatchSetType {
			return invalid("type", p.Type, "patch type *v1beta1.PatchSetPatch does not support patch of type PatchSet")
		}
		return p.validate()
	})
}

func (e *Environment) validate() error {
	for i := range e.Patches {
		p := &e.Patches[i]
		if !slices.Contains(environmentTypes, p.TypeOrDefault()) {
			return invalid(fmt.Sprintf("patches[%d][type]", i), p.Type, "invalid environment patch type")
		}
		if err := p.validate(); err != nil {
			return under(fmt.Sprintf("patches[%d]", i), err)
		}
	}
	return nil
}

// environmentTypes are the types of patches that Environment may have.
var environmentTypes = []PatchType{
	FromCompositeFieldPath, ToCompositeFieldPath, CombineFromComposite, CombineToComposite,
	FromEnvironmentFieldPath, ToEnvironmentFieldPath,
}

func (t *Template) validate() error {
	if t.Name == "" {
		return required("name", "name is required")
	}
	return inOrder(
		func() error {
			return first("patches", len(t.Patches), func(i int) error { return t.Patches[i].validate() })
		},
		func() error {
			return first("connectionDetails", len(t.ConnectionDetails), func(i int) error { return t.ConnectionDetails[i].validate() })
		},
		func() error {
			return first("readinessChecks", len(t.ReadinessChecks), func(i int) error { return t.ReadinessChecks[i].validate() })
		},
	)
}

func (p *ComposedPatch) validate() error {
	if p.Type != PatchSetType {
		return p.Patch.validate()
	}
	if p.PatchSetName == nil || *p.PatchSetName == "" {
		return required("patchSetName", "patchSetName must be set for patch type PatchSet")
	}
	return p.validateRest()
}

func (p *Patch) validate() error {
	switch t := p.TypeOrDefault(); t {
	case FromCompositeFieldPath, ToCompositeFieldPath, FromEnvironmentFieldPath, ToEnvironmentFieldPath:
		if p.FromFieldPath == nil || *p.FromFieldPath == "" {
			return required("fromFieldPath", fmt.Sprintf("fromFieldPath must be set for patch type %s", t))
		}
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		// The real function leaves it at that: transforms and policies of
		// these patches are only found out when they are used.
		return p.validateCombine()
	default:
		return invalid("type", t, "unknown patch type")
	}
	return p.validateRest()
}

func (p *Patch) validateRest() error {
	if err := first("transforms", len(p.Transforms), func(i int) error { return p.Transforms[i].validate() }); err != nil {
		return err
	}
	switch p.Over() {
	case Replace, MergeObjects, MergeObjectsAppendArrays, ForceMergeObjects, ForceMergeObjectsAppendArrays, MergeObject, AppendArray:
	default:
		return invalid("policy.toFieldPathPolicy", p.Over(), "unknown toFieldPathPolicy")
	}
	switch p.From() {
	case FromOptional, FromRequired:
		return nil
	default:
		return invalid("policy.fromFieldPathPolicy", p.From(), "unknown fromFieldPathPolicy")
	}
}

func (p *Patch) validateCombine() error {
	if p.Combine == nil {
		return required("combine", fmt.Sprintf("combine must be set for patch type %s", p.Type))
	}
	if p.To() == "" {
		return required("toFieldPath", fmt.Sprintf("toFieldPath must be set for patch type %s", p.Type))
	}
	return under("combine", p.Combine.validate())
}

// To is the path that the patch writes to, written or not.
func (p *Patch) To() string {
	switch {
	case p.ToFieldPath != nil:
		return *p.ToFieldPath
	case p.FromFieldPath != nil:
		return *p.FromFieldPath
	default:
		return ""
	}
}

func (c *Combine) validate() error {
	switch c.Strategy {
	case CombineByString:
		if c.String == nil {
			return required("string", "string must be set for combine strategy string")
		}
	case "":
		return required("strategy", "a combine strategy must be provided")
	default:
		return invalid("strategy", c.Strategy, "unknown strategy type")
	}
	if len(c.Variables) == 0 {
		return required("variables", "at least one variable must be provided")
	}
	return first("variables", len(c.Variables), func(i int) error {
		if c.Variables[i].FromFieldPath == "" {
			return required("fromFieldPath", "fromFieldPath must be set for each combine variable")
		}
		return nil
	})
}

func (d *ConnectionDetail) validate() error {
	switch {
	case d.Type == "":
		return required("type", "connection detail type is required")
	case d.Type != FromValue && d.Type != FromConnectionSecretKey && d.Type != FromFieldPath:
		return invalid("type", d.Type, "unknown connection detail type")
	case d.Name == "":
		return required("name", "name is required")
	case d.Type == FromValue && d.Value == nil:
		return required("value", "value connection detail requires a value")
	case d.Type == FromConnectionSecretKey && d.FromConnectionSecretKey == nil:
		return required("fromConnectionSecretKey", "from connection secret key connection detail requires a key")
	case d.Type == FromFieldPath && d.FromFieldPath == nil:
		return required("fromFieldPath", "from field path connection detail requires a field path")
	default:
		return nil
	}
}

func (c *ReadinessCheck) validate() error {
	switch c.Type {
	case CheckNone:
		return nil
	case CheckMatchString:
		if c.MatchString == nil {
			return required("matchString", "cannot be nil for type MatchString")
		}
	case CheckMatchInteger:
		if c.MatchInteger == nil {
			return required("matchInteger", "cannot be nil for type MatchInteger")
		}
	case CheckMatchCondition:
		if c.MatchCondition == nil {
			return nil
		}
		return under("matchCondition", c.MatchCondition.validate())
	case CheckNonEmpty, CheckMatchTrue, CheckMatchFalse:
	default:
		return invalid("type", c.Type, "unknown readiness check type")
	}
	if c.FieldPath == nil {
		return required("fieldPath", "cannot be empty")
	}
	return nil
}

func (c *MatchCondition) validate() error {
	switch {
	case c.Type == "":
		return required("type", "cannot be empty for type MatchCondition")
	case c.Status == "":
		return required("status", "cannot be empty for type MatchCondition")
	default:
		return nil
	}
}
