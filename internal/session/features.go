package session

import (
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// switchOff removes the steps of p.entry that features switch off. It warns of a Composition that then
// composes nothing.
func (s *Session) switchOff(p *plan) {
	switch e := p.entry; {
	case p.in.Features.Off(composition.FeatureFunctions) && !e.Converted: // Converted Compositions need no functions.
		s.config.Progress.Warn(fmt.Sprintf("%s: Composition %q composes nothing: without the feature %s, Crossplane runs no pipeline", e.Document.Position(), e.GetName(), composition.FeatureFunctions))
		p.setEntry(e.Without(func(apiextv1.PipelineStep) bool { return true }))
	case p.in.Features.Off(composition.FeatureEnvironmentConfigs) && e.Converted:
		p.setEntry(e.Without(func(step apiextv1.PipelineStep) bool { return step.FunctionRef.Name == legacy.EnvironmentConfigs }))
	}
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
