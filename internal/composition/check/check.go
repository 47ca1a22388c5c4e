package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// The kinds of integrity errors that only this package reports. Package
// composition defines other kinds.
const (
	UnknownValidationMode composition.ProblemKind = "UnknownValidationMode"
	EmptyResources        composition.ProblemKind = "EmptyResources"
	NamedAndUnnamed       composition.ProblemKind = "NamedAndUnnamed"
	ResourceWithoutName   composition.ProblemKind = "ResourceWithoutName"
	DuplicateResource     composition.ProblemKind = "DuplicateResource"
	InsideBase            composition.ProblemKind = "InsideBase"
	PatchSetWithoutName   composition.ProblemKind = "PatchSetWithoutName"
	PatchWithoutFrom      composition.ProblemKind = "PatchWithoutFromFieldPath"
	PatchWithoutTo        composition.ProblemKind = "PatchWithoutToFieldPath"
	PatchWithoutCombine   composition.ProblemKind = "PatchWithoutCombine"
	EmptyMatchString      composition.ProblemKind = "EmptyMatchString"
	ZeroMatchInteger      composition.ProblemKind = "ZeroMatchInteger"
	CheckWithoutFieldPath composition.ProblemKind = "CheckWithoutFieldPath"
	// InvalidInput is any other error in an input of function-patch-and-transform, and an
	// error in the fields of another input.
	InvalidInput composition.ProblemKind = "InvalidInput"
	// WrongInputKind is an input of another apiVersion or kind than the function's.
	WrongInputKind composition.ProblemKind = "WrongInputKind"
)

// The kinds of problems that are found by comparison with a schema.
const (
	MissingSchema composition.ProblemKind = "MissingSchema"
	// The kinds of schema aware errors: a field does not exist or has
	// another type, or a map transform has no value for an input.
	NoSuchField composition.ProblemKind = "NoSuchField"
	WrongType   composition.ProblemKind = "WrongType"
	NotInMap    composition.ProblemKind = "NotInMap"
	// NoRootField is a field that no composite resource has, which needs no schema to be known.
	NoRootField composition.ProblemKind = "NoRootField"
)

// The kinds of problems that are warnings in any mode.
const (
	// NotApplied is a patch to the status of a composed resource, which Crossplane does not apply.
	// OutsideStatus is a patch to a field of a composite resource outside of its status.
	NotApplied    composition.ProblemKind = "NotApplied"
	OutsideStatus composition.ProblemKind = "OutsideStatus"
	// NotChecked reports that checking stopped at the limit of patches.
	NotChecked composition.ProblemKind = "NotChecked"
	// InputNotChecked is an input for which no CRD was found.
	InputNotChecked composition.ProblemKind = "InputNotChecked"
	// OtherFunction is an error by the rules of the function whose API group the input has. The
	// step's function has another name, so it may have other rules.
	OtherFunction composition.ProblemKind = "OtherFunction"
)

// A Schemas function returns the schema definition of a kind, or nil if the kind
// is unknown.
type Schemas = func(kschema.GroupKind) *schema.Definition

// Options configure Composition.
type Options struct {
	// Schemas finds the schemas of kinds. An invalid schema counts as missing.
	Schemas Schemas
	// similar, if not nil, returns the kind that was probably meant by a kind without a schema, or
	// "".
	similar func(kschema.GroupVersionKind) string
	// Mode decides which problems are warnings. ByAnnotation selects the mode in the
	// Composition's annotation.
	Mode Mode
	// Inputs are the inputs of official functions, and of packages of functions. A step calls
	// one of these functions if its functionRef has the function's name.
	Inputs composition.Inputs
}

// Composition returns the problems of a Composition, sorted by line. It reports the
// problems that this package finds, and the problems that composition.Check finds if every
// function is available.
//
// If patch sets expand to more than patch.Most patches, only the first patch.Most
// of these are checked. A Composition that calls alpha functions is checked only
// by composition.Check.
func Composition(ctx context.Context, e composition.Entry, o Options) []composition.Problem {
	c := newChecker(e, o)
	mode := c.mode(e, o.Mode)
	found := composition.Check(e, nil)
	if names, isLegacy := legacyNames(e); isLegacy {
		// c.names reports missing resources as EmptyResources, so the same
		// problem from composition.Check is removed.
		found = slices.DeleteFunc(found, func(p composition.Problem) bool {
			return p.Field == "spec.resources" && (p.Kind == composition.UnknownMode || p.Kind == composition.NotCarried)
		})
		c.names(names)
	}
	for _, in := range c.inputs(ctx, e) {
		c.other = in.other
		c.integrity(in)
		if o.Mode != NoSchemas {
			c.patches(in)
		}
	}
	// The packages of the functions are unknown. The name that Crossplane derives from the name of an
	// official package ends with the name of the function.
	byName := func(name string) string { return strings.TrimPrefix(name, "crossplane-contrib-") }
	c.order(e, byName, false)
	found = append(found, located(e, c.problems)...)
	for i, p := range found {
		found[i].Warning = p.Warning || mode.warns(p.Kind)
	}
	slices.SortStableFunc(found, func(a, b composition.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return found
}

type checker struct {
	Options
	composite apiextv1.TypeReference
	sides     map[kschema.GroupVersionKind]side
	// bases maps the name of a template to the kind and schema of its base.
	bases    map[string]side
	problems []composition.Problem
	// reads has the paths that patches read, by the field of the patch.
	reads Reads
	// seen has the field and text of each problem in problems.
	seen map[string]bool
	// budget is the number of patches of patch sets that may still be checked.
	budget int
	// other is the name of the function that the current step calls, if it may not be the
	// function by whose rules the step's input is checked.
	other string
	// givesEnvironment is true if a step gives the pipeline an environment.
	givesEnvironment bool
}

func newChecker(e composition.Entry, o Options) *checker {
	givesEnvironment := slices.ContainsFunc(e.Spec.Pipeline, func(step apiextv1.PipelineStep) bool {
		return strings.HasSuffix(step.FunctionRef.Name, environmentConfigs)
	})
	return &checker{
		Options: o, composite: e.Spec.CompositeTypeRef, budget: patch.Most, givesEnvironment: givesEnvironment,
		sides: map[kschema.GroupVersionKind]side{}, bases: map[string]side{}, seen: map[string]bool{},
		reads: Reads{reads{}, reads{}, map[string]reads{}, map[string]bool{}},
	}
}

func (c *checker) add(kind composition.ProblemKind, field, format string, args ...any) {
	c.note(false, kind, field, fmt.Sprintf(format, args...))
}

// note adds a problem, unless one with the same field and text was added.
func (c *checker) note(warning bool, kind composition.ProblemKind, field, text string) {
	if c.other != "" && kind != MissingSchema {
		kind, text = OtherFunction, fmt.Sprintf("%s (unless the function %q has other rules)", text, c.other)
	}
	key := field + "\x00" + text
	if !c.seen[key] {
		c.seen[key] = true
		c.problems = append(c.problems, composition.Problem{Kind: kind, Field: field, Text: text, Warning: warning})
	}
}

// A Mode decides which problems are warnings.
type Mode string

// The modes in the section "Schema aware validation modes" of Crossplane's documentation.
//
//	Mode    missing schema  schema aware error  integrity error
//	warn    warning         warning             error
//	loose   warning         error               error
//	strict  error           error               error
const (
	// ByAnnotation selects the mode in the annotation ModeAnnotation. Without the
	// annotation, the mode is Warn.
	ByAnnotation Mode = ""
	Warn         Mode = "warn"
	Loose        Mode = "loose"
	Strict       Mode = "strict"
	// NoSchemas compares nothing with schemas, as Crossplane does if validation by schemas is
	// switched off. Then the annotation has no effect.
	NoSchemas Mode = "none"
)

// ModeAnnotation is the annotation in which a Composition sets its Mode.
const ModeAnnotation = "crossplane.io/composition-schema-aware-validation-mode"

// ParseMode returns the Mode with the given name: warn, loose or strict.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Warn, Loose, Strict:
		return m, nil
	default:
		return ByAnnotation, fmt.Errorf("parsing the validation mode %q: expected warn, loose or strict", name)
	}
}

// ModeFor returns the mode for the features of Crossplane that are switched on or off.
func ModeFor(features composition.Features) Mode {
	if features.Off(composition.FeatureSchemaValidation) {
		return NoSchemas
	}
	return ByAnnotation
}

func (m Mode) warns(kind composition.ProblemKind) bool {
	switch kind {
	case MissingSchema:
		return m != Strict
	case NoSuchField, NoRootField, WrongType, NotInMap:
		return m == Warn
	case NotApplied, InsideBase, OutOfOrder, OutsideStatus, NotChecked, IgnoredValue, InputNotChecked, OtherFunction, composition.NotCarried, composition.LegacyField:
		return true
	default:
		return false
	}
}

// mode returns the mode asked or, if asked is empty, the mode in the
// Composition's annotation. It reports an unknown mode in the annotation, because
// Crossplane rejects such a Composition.
func (c *checker) mode(e composition.Entry, asked Mode) Mode {
	mode := Warn
	if asked == NoSchemas {
		return asked
	}
	if text, ok := e.GetAnnotations()[ModeAnnotation]; ok {
		if m, err := ParseMode(text); err == nil {
			mode = m
		} else {
			c.add(UnknownValidationMode, "metadata.annotations."+ModeAnnotation, "expected the validation mode warn, loose or strict, got %q", text)
		}
	}
	return cmp.Or(asked, mode)
}

// ForValidation returns a function with which a validate.Validator checks Compositions. The
// Validator sets o.Schemas.
func ForValidation(o Options) validate.CompositionCheck {
	return func(ctx context.Context, doc manifest.Document, obj map[string]any, known func(kschema.GroupVersionKind) (*schema.Definition, string)) (found []validate.Fault, isLegacy bool) {
		isLegacy = legacy.Is(obj)
		e, err := composition.Decode(doc)
		if err != nil && isLegacy {
			return validate.Unreadable(doc, err).Faults, true
		}
		if err != nil {
			return nil, false // The Validator reports err when it applies the schema.
		}
		own := o // Compositions are checked concurrently.
		own.Schemas = func(kind kschema.GroupKind) *schema.Definition {
			def, _ := known(kind.WithVersion(""))
			return def
		}
		own.similar = func(kind kschema.GroupVersionKind) string {
			_, near := known(kind)
			return near
		}
		for _, p := range Composition(ctx, e, own) {
			// The Validator reports these when it validates the Composition against its schema,
			// except for a legacy Composition. NotCarried describes the conversion to a
			// pipeline, not an error of the Composition.
			bySchema := p.Kind == composition.UnknownField || p.Kind == composition.LegacyField || p.Kind == composition.UnknownMode
			if p.Kind == composition.NotCarried || bySchema && !isLegacy {
				continue
			}
			found = append(found, validate.Fault{Field: p.Field, Text: strings.TrimPrefix(p.Field+": "+p.Text, ": "), Warning: p.Warning, ByMode: p.Warning && Warn.warns(p.Kind) && !Loose.warns(p.Kind)})
		}
		return found, isLegacy
	}
}
