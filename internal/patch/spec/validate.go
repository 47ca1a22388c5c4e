package spec

import "fmt"

// Validate returns the first error in p, with the texts of
// function-patch-and-transform. It does not support patches of type PatchSet.
func (p *Patch) Validate() error {
	switch t := p.TypeOrDefault(); t {
	case FromCompositeFieldPath, ToCompositeFieldPath, FromEnvironmentFieldPath, ToEnvironmentFieldPath:
		if p.FromFieldPath == nil || *p.FromFieldPath == "" {
			return Required("fromFieldPath", fmt.Sprintf("fromFieldPath must be set for patch type %s", t))
		}
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		// The real function does not validate the transforms and policies of
		// these patches. They fail when they are used.
		return p.validateCombine()
	default:
		return Invalid("type", t, "unknown patch type")
	}
	return p.ValidateRest()
}

// ValidateRest returns the first error in p's transforms and policies.
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
