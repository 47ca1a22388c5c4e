package session

import (
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// runsNothing reports whether features switch off all steps of a Composition. Only Converted
// Compositions compose resources without composition functions.
func (in Inputs) runsNothing(e composition.Entry) bool {
	return in.Features.Off(composition.FeatureFunctions) && !e.Converted
}

// warnSwitched warns of a Composition that composes nothing because of the features.
func (s *Session) warnSwitched(in Inputs, e composition.Entry) {
	if in.runsNothing(e) {
		s.config.Progress.Warn(fmt.Sprintf("%s: Composition %q composes nothing: without the feature %s, Crossplane runs no pipeline", e.Document.Position(), e.GetName(), composition.FeatureFunctions))
	}
}

// switched returns e without the steps that features switch off.
func (in Inputs) switched(e composition.Entry) composition.Entry {
	if in.runsNothing(e) {
		return e.Without(func(apiextv1.PipelineStep) bool { return true })
	}
	if in.Features.Off(composition.FeatureEnvironmentConfigs) && e.Converted {
		return e.Without(func(step apiextv1.PipelineStep) bool { return step.FunctionRef.Name == legacy.EnvironmentConfigs })
	}
	return e
}

// Release returns the release of Crossplane by whose CRDs the kinds of Crossplane are
// validated in a profile.
func Release(p render.Profile) schema.Release {
	switch p {
	case render.Classic:
		return schema.V2_2
	case render.V1_20:
		return schema.V1_20
	case render.V1_14, render.Alpha:
		return schema.V1_14
	default:
		return schema.V2_3
	}
}
