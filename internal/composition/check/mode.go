package check

import (
	"cmp"
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
	// ByAnnotation is the mode in ModeAnnotation. The default is Warn.
	ByAnnotation Mode = ""
	Warn         Mode = "warn"
	Loose        Mode = "loose"
	Strict       Mode = "strict"
)

// ModeAnnotation is the annotation of a Composition with its Mode.
const ModeAnnotation = "crossplane.io/composition-schema-aware-validation-mode"

// ParseMode returns the mode with a name: warn, loose or strict.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Warn, Loose, Strict:
		return m, nil
	default:
		return ByAnnotation, fmt.Errorf("parsing the validation mode %q: expected warn, loose or strict", name)
	}
}

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

// mode returns the mode to use. Crossplane rejects an unknown mode in the
// annotation.
func (c *checker) mode(e composition.Entry, asked Mode) Mode {
	mode := Warn
	if text, ok := e.GetAnnotations()[ModeAnnotation]; ok {
		if m, err := ParseMode(text); err == nil {
			mode = m
		} else {
			c.add(UnknownValidationMode, "metadata.annotations."+ModeAnnotation, "expected the validation mode warn, loose or strict, got %q", text)
		}
	}
	return cmp.Or(asked, mode)
}
