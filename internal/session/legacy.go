package session

import (
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
)

// unlistable returns the functions that may be missing from the functions file:
// those of all Compositions if there is no file, otherwise those of legacy
// Compositions, which name no functions.
func (s *Session) unlistable(all []composition.Entry) []string {
	var compositions []*apiextv1.Composition
	for _, e := range all {
		if e.Converted || s.config.Functions == "" {
			compositions = append(compositions, e.Composition)
		}
	}
	return functionNames(compositions)
}

// noteConverted reports that the rendered Composition is converted from the
// document.
func (s *Session) noteConverted(e composition.Entry) {
	if e.Converted {
		s.config.Progress.Note(fmt.Sprintf("%s: Composition %q is of mode Resources, and is rendered as the pipeline that `convert pipeline-composition` makes of it", e.Document.Position(), e.GetName()))
	}
}

// hintMode adds a hint to a problem of a Composition with functions of profile
// Alpha.
func hintMode(e composition.Entry, err error) error {
	if !e.Alpha {
		return err
	}
	return hint.Wrap(err, "render it with "+hint.Profile+" alpha, or convert it with `convert pipeline-composition`, which reports what it does with the functions")
}
