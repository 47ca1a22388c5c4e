package session

import (
	"errors"
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/feature"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/hint"
)

// switched returns e without the steps that features switch off, and warns of them. Only Converted
// Compositions compose resources without composition functions.
func (s *Session) switched(in Inputs, e composition.Entry) composition.Entry {
	if in.Features.Off(feature.CompositionFunctions) && !e.Converted {
		s.config.Progress.Warn(fmt.Sprintf("%s: Composition %q composes nothing: without the feature %s, Crossplane runs no pipeline", e.Document.Position(), e.GetName(), feature.CompositionFunctions))
		return e.Without(func(apiextv1.PipelineStep) bool { return true })
	}
	if in.Features.Off(feature.EnvironmentConfigs) && e.Converted {
		return e.Without(func(step apiextv1.PipelineStep) bool { return step.FunctionRef.Name == legacy.EnvironmentConfigs })
	}
	return e
}

// checkOperations returns an error if Operations are switched off.
func (in Inputs) checkOperations() error {
	if !in.Features.Off(feature.Operations) {
		return nil
	}
	return hint.Wrap(errors.New("the feature operations is switched off: Crossplane runs no Operation"), "leave out the switch, or set it to true")
}
