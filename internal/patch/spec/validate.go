package spec

import (
	"fmt"

	"github.com/xfn-dev/xfn/internal/patch/fielderror"
)

// Validate returns the first thing that is wrong with p, in the words of
// function-patch-and-transform. It is not for patches of type PatchSet.
func (p *Patch) Validate() error {
	switch t := p.TypeOrDefault(); t {
	case FromCompositeFieldPath, ToCompositeFieldPath, FromEnvironmentFieldPath, ToEnvironmentFieldPath:
		if p.FromFieldPath == nil || *p.FromFieldPath == "" {
			return fielderror.Required("fromFieldPath", fmt.Sprintf("fromFieldPath must be set for patch type %s", t))
		}
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		// The real function leaves it at that: transforms and policies of
		// these patches are only found out when they are used.
		return p.validateCombine()
	default:
		return fielderror.Invalid("type", t, "unknown patch type")
	}
	return p.ValidateRest()
}

// Validate returns the first thing that is wrong with p, in the words of
// function-patch-and-transform. It is not for patches of type PatchSet.
func (p *Patch) ValidateRest() error {
	if err := fielderror.First("transforms", len(p.Transforms), func(i int) error { return p.Transforms[i].validate() }); err != nil {
		return err
	}
	switch p.Over() {
	case Replace, MergeObjects, MergeObjectsAppendArrays, ForceMergeObjects, ForceMergeObjectsAppendArrays, MergeObject, AppendArray:
	default:
		return fielderror.Invalid("policy.toFieldPathPolicy", p.Over(), "unknown toFieldPathPolicy")
	}
	switch p.From() {
	case FromOptional, FromRequired:
		return nil
	default:
		return fielderror.Invalid("policy.fromFieldPathPolicy", p.From(), "unknown fromFieldPathPolicy")
	}
}

func (p *Patch) validateCombine() error {
	if p.Combine == nil {
		return fielderror.Required("combine", fmt.Sprintf("combine must be set for patch type %s", p.Type))
	}
	if p.To() == "" {
		return fielderror.Required("toFieldPath", fmt.Sprintf("toFieldPath must be set for patch type %s", p.Type))
	}
	return fielderror.Under("combine", p.Combine.validate())
}

func (c *Combine) validate() error {
	switch c.Strategy {
	case CombineByString:
		if c.String == nil {
			return fielderror.Required("string", "string must be set for combine strategy string")
		}
	case "":
		return fielderror.Required("strategy", "a combine strategy must be provided")
	default:
		return fielderror.Invalid("strategy", c.Strategy, "unknown strategy type")
	}
	if len(c.Variables) == 0 {
		return fielderror.Required("variables", "at least one variable must be provided")
	}
	return fielderror.First("variables", len(c.Variables), func(i int) error {
		if c.Variables[i].FromFieldPath == "" {
			return fielderror.Required("fromFieldPath", "fromFieldPath must be set for each combine variable")
		}
		return nil
	})
}
