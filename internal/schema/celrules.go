package schema

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A ruleChecker checks the types and the CEL rules in the schema of a version.
type ruleChecker struct {
	costs
	// keywordsOnly leaves out the CEL rules.
	keywordsOnly bool
}

// A part is a schema in the schema of a version.
type part struct {
	at *field.Path
	// root is true for the schema of an object with metadata.
	root bool
	// count is the maximum number of values of the schema in an object, or nil if there is no
	// maximum.
	count *uint64
	// atomic is the path of the outermost list around the schema whose elements have no old
	// values, or nil. Only the elements of lists of type map have old values.
	atomic *field.Path
	// top is true for the schema of a version. meta is true in apiVersion, kind and metadata of a
	// resource. noDefault says where defaults are forbidden, or is "".
	top, meta bool
	noDefault string
}

// inner returns the part below p with a path, for the values in s, which is the schema of p.
func (p part) inner(at *field.Path, s, below *structural.Structural) part {
	in := part{at: at, root: below.XEmbeddedResource, count: within(p.count, s), atomic: p.atomic, meta: p.meta, noDefault: p.noDefault}
	if s.Items == below && p.atomic == nil && (s.XListType == nil || *s.XListType != "map") {
		in.atomic = p.at
	}
	return in
}

// property returns the part below p for the property of s that is called name.
func (p part) property(name string, s, below *structural.Structural) part {
	in := p.inner(p.at.Child("properties").Key(name), s, below)
	if (p.top || s.XEmbeddedResource) && (name == "metadata" || name == "kind" || name == "apiVersion") {
		in.meta = true
		if p.top {
			in.noDefault = "in top-level " + name
		}
	}
	return in
}

// checkEach returns the errors in keywords and CEL rules of s and of all schemas in it. Rules are
// compiled where the keywords are right.
func (c *ruleChecker) checkEach(p part, s *structural.Structural) field.ErrorList {
	errs := checkKeywords(p, s)
	if len(s.XValidations) > 0 && len(errs) == 0 && !c.keywordsOnly {
		errs = append(errs, c.rules(p, s)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		prop := s.Properties[name]
		errs = append(errs, c.checkEach(p.property(name, s, &prop), &prop)...)
	}
	if s.Items != nil {
		errs = append(errs, c.checkEach(p.inner(p.at.Child("items"), s, s.Items), s.Items)...)
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		in := p.inner(p.at.Child("additionalProperties"), s, more.Structural)
		if in.meta {
			in.noDefault = "inside additionalProperties applying to object metadata"
		}
		errs = append(errs, c.checkEach(in, more.Structural)...)
	}
	return errs
}

// rules returns the errors in the CEL rules of s itself, not of nested schemas.
func (c *ruleChecker) rules(p part, s *structural.Structural) field.ErrorList {
	at := p.at.Child("x-kubernetes-validations")
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiled, err := cel.Compile(s, model.SchemaDeclType(s, p.root), celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	if err != nil {
		return field.ErrorList{field.Invalid(at, nil, err.Error())}
	}
	var errs field.ErrorList
	for i, r := range compiled {
		errs = append(errs, c.rule(p, at.Index(i), s, i, r)...)
	}
	return errs
}

// rule returns the errors in the rule of s with index i, which is compiled to r. at is its path.
func (c *ruleChecker) rule(p part, at *field.Path, s *structural.Structural, i int, r cel.CompilationResult) field.ErrorList {
	rule := s.XValidations[i]
	most := r.MaxCardinality
	if p.count != nil {
		most = *p.count
	}
	errs := c.add(at.Child("rule"), "rule", times(r.MaxCost, most))
	if r.MessageExpression != nil && r.MessageExpressionError == nil {
		errs = append(errs, c.add(at.Child("messageExpression"), "messageExpression", r.MessageExpressionMaxCost)...)
	}
	if r.Error != nil {
		errs = append(errs, field.Invalid(at.Child("rule"), rule.Rule, r.Error.Detail))
	}
	if r.MessageExpressionError != nil {
		errs = append(errs, field.Invalid(at.Child("messageExpression"), rule.MessageExpression, r.MessageExpressionError.Detail))
	}
	switch {
	case r.UsesOldSelf && p.atomic != nil:
		errs = append(errs, field.Invalid(at.Child("rule"), rule.Rule, fmt.Sprintf("oldSelf cannot be used on the uncorrelatable portion of the schema within %v", p.atomic)))
	case !r.UsesOldSelf && rule.OptionalOldSelf != nil:
		errs = append(errs, field.Invalid(at.Child("optionalOldSelf"), *rule.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
	return errs
}

// A usualRule is a CEL rule about a field.
type usualRule struct {
	field string
	// optional rules are true without the field, and lower rules for a text in lower case.
	optional, lower bool
	// next is what to do about the field if the rule is broken, or "".
	next string
}

// usualRules are the rules that almost all XRDs obey. The library needs 7 ms to compile them.
var usualRules = map[string]usualRule{
	"!has(self.claimNames)":                                              {field: "claimNames", optional: true, next: "remove claimNames, because users create the composite resource itself"},
	"!has(self.connectionSecretKeys)":                                    {field: "connectionSecretKeys", optional: true, next: "remove connectionSecretKeys, and compose a Secret"},
	"self.scope == 'LegacyCluster' || !has(self.claimNames)":             {field: "claimNames", optional: true, next: "remove claimNames, or write scope: LegacyCluster"},
	"self.scope == 'LegacyCluster' || !has(self.connectionSecretKeys)":   {field: "connectionSecretKeys", optional: true, next: "remove connectionSecretKeys and compose a Secret, or write scope: LegacyCluster"},
	"self.plural == self.plural.lowerAscii()":                            {field: "plural", lower: true},
	"!has(self.singular) || self.singular == self.singular.lowerAscii()": {field: "singular", optional: true, lower: true},
}

// explained returns f unchanged unless its message is that of a rule with a next action. It then returns
// f as a fault of the rule's field, with the action. rules are by their messages.
func explained(f Fault, rules map[string]usualRule) Fault {
	if f.Err == nil || f.Err.Type != field.ErrorTypeInvalid || rules[f.Err.Detail].next == "" {
		return f
	}
	r, err := rules[f.Err.Detail], *f.Err
	err.Detail += ": " + r.next
	f.Field, f.Text, f.Err = strings.TrimPrefix(f.Field+"."+r.field, "."), err.Detail, &err
	return f
}

// holds reports whether the rule is certainly true for self, which has the schema s. If it returns
// false, only the library knows.
func (r usualRule) holds(self map[string]any, s *structural.Structural) bool {
	p, declared := s.Properties[r.field]
	value, found := self[r.field]
	if !found {
		return declared && r.optional
	}
	text, ok := value.(string)
	isText := p.Type == "string" && (p.ValueValidation == nil || p.ValueValidation.Format == "")
	return r.lower && ok && isText && text == strings.ToLower(text)
}

// obeys reports whether value, which is new and has the schema s, certainly obeys all CEL rules of s:
// all that it must obey are usualRules. If it returns false, only the library knows.
func obeys(value any, s *structural.Structural) bool {
	if s.ValueValidation != nil && len(s.ValueValidation.AllOf) > 0 {
		return false // A schema in it may have rules.
	}
	obj, _ := value.(map[string]any)
	for _, r := range s.XValidations {
		if value != nil && !immutable(r) && !usualRules[r.Rule].holds(obj, s) {
			return false
		}
	}
	for name, v := range obj {
		if p, ok := s.Properties[name]; ok && !obeys(v, &p) {
			return false
		}
		if more := s.AdditionalProperties; more != nil && more.Structural != nil && !obeys(v, more.Structural) {
			return false
		}
	}
	if items, ok := value.([]any); ok && s.Items != nil {
		return !slices.ContainsFunc(items, func(v any) bool { return !obeys(v, s.Items) })
	}
	return true
}

// immutable reports whether r is the usual CEL rule that makes a field immutable. The API server does
// not check it for new objects.
func immutable(r extv1.ValidationRule) bool {
	return r.Rule == "self == oldSelf" && (r.OptionalOldSelf == nil || !*r.OptionalOldSelf)
}

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
