package check

import (
	"fmt"

	"github.com/xfn-dev/xfn/internal/composition"
)

// A Mode decides which problems are warnings.
type Mode string

// The modes of Crossplane's documentation, "Schema aware validation modes".
//
//	Mode    missing schema  schema aware error  integrity error
//	warn    warning         warning             error
//	loose   warning         error               error
//	strict  error           error               error
const (
	// ByAnnotation is the mode that the Composition's annotation ModeAnnotation
	// says, and Warn without one.
	ByAnnotation Mode = ""
	Warn         Mode = "warn"
	Loose        Mode = "loose"
	Strict       Mode = "strict"
)

// ModeAnnotation is the annotation of a Composition that says its Mode.
const ModeAnnotation = "crossplane.io/composition-schema-aware-validation-mode"

// ParseMode returns the mode of a name: warn, loose or strict.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Warn, Loose, Strict:
		return m, nil
	default:
		return ByAnnotation, fmt.Errorf("reading the validation mode %q: expected warn, loose or strict", name)
	}
}

// warns reports whether problems of a kind are warnings in the mode.
func (m Mode) warns(kind composition.ProblemKind) bool {
	switch kind {
	case MissingSchema:
		return m != Strict
	case NoSuchField, WrongType, NotInMap:
		return m == Warn
	case NotApplied, NotChecked, composition.NotCarried:
		return true
	default:
		return false
	}
}

// mode settles which mode counts. An annotation that is none is a problem in any
// mode: Crossplane refuses the Composition.
func (c *checker) mode(e composition.Entry, asked Mode) Mode {
	byAnnotation := Warn
	if text, ok := e.GetAnnotations()[ModeAnnotation]; ok {
		var err error
		if byAnnotation, err = ParseMode(text); err != nil {
			c.add(UnknownValidationMode, "metadata.annotations."+ModeAnnotation, "%q is not a validation mode: warn, loose and strict are", text)
			byAnnotation = Warn
		}
	}
	if asked != ByAnnotation {
		return asked
	}
	return byAnnotation
}
