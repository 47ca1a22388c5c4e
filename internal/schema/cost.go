package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of the API server for the estimated costs of CEL rules: of one expression, and of
// all expressions in the schema of a version.
const (
	maxExpressionCost = 10_000_000
	maxSchemaCost     = 100_000_000
)

// costs has the estimated costs of the CEL expressions in a schema.
type costs struct {
	total uint64
	// expensive are the expressions that cost at least a hundredth of maxSchemaCost.
	expensive []expressionCost
}

type expressionCost struct {
	at   *field.Path
	cost uint64
}

// add adds the cost of the expression at a path. what describes the expression. The errors have
// the words of the API server.
func (c *costs) add(at *field.Path, what string, cost uint64) field.ErrorList {
	c.total = saturate(c.total+cost, c.total+cost < cost)
	if cost >= maxSchemaCost/100 {
		c.expensive = append(c.expensive, expressionCost{at, cost})
	}
	if cost > maxExpressionCost {
		return field.ErrorList{field.Forbidden(at, exceeds("estimated "+what+" cost", cost, maxExpressionCost))}
	}
	return nil
}

// check returns an error if all expressions together cost more than the API server allows. at is
// the path of the schema.
func (c *costs) check(at *field.Path) field.ErrorList {
	if c.total <= maxSchemaCost {
		return nil
	}
	slices.SortStableFunc(c.expensive, func(a, b expressionCost) int { return cmp.Compare(b.cost, a.cost) })
	var errs field.ErrorList
	for _, e := range c.expensive[:min(4, len(c.expensive))] {
		errs = append(errs, field.Forbidden(e.at, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(at, exceeds("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.total, maxSchemaCost)))
}

// exceeds returns the API server's message for a cost that is above a limit.
func exceeds(what string, cost, limit uint64) string {
	factor := fmt.Sprintf("%.1fx", float64(cost)/float64(limit))
	switch f := float64(cost) / float64(limit); {
	case f > 100:
		factor = "more than 100x"
	case f < 1.5:
		factor = fmt.Sprintf("%fx", f)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)", what, factor)
}

// elements returns the maximum number of values that a list or map contains, or nil if it has
// no maximum. For other values it returns 1.
func elements(s *structural.Structural) *int64 {
	one := int64(1)
	switch {
	case s.Type == "array" && s.ValueValidation != nil:
		return s.ValueValidation.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil && s.ValueValidation != nil:
		return s.ValueValidation.MaxProperties
	case s.Type == "array", s.Type == "object" && s.AdditionalProperties != nil:
		return nil
	default:
		return &one
	}
}

// within returns the maximum number of values of a schema in s, if there are at most count
// values of s. nil means that there is no maximum.
func within(count *uint64, s *structural.Structural) *uint64 {
	most := elements(s)
	if count == nil || most == nil {
		return nil
	}
	n := times(*count, uint64(max(0, *most)))
	return &n
}

// times returns a*b, or the largest number if the product is larger.
func times(a, b uint64) uint64 { return saturate(a*b, a != 0 && math.MaxUint64/a < b) }

func saturate(n uint64, overflows bool) uint64 {
	if overflows {
		return math.MaxUint64
	}
	return n
}
