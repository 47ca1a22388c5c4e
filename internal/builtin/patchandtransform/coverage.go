package patchandtransform

import (
	"fmt"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
)

// allPoints returns the points of an input: the composed resources, the patches that a resource, the
// environment or the Secret uses, the branches of their transforms, and the readiness checks. The
// points of a patch set are in it once for each template that uses the set.
func (p *program) allPoints() []sdk.Point {
	var all []sdk.Point
	add := func(patches []placedPatch) {
		for i := range patches {
			all = append(all, patches[i].point())
			for n := range patches[i].transforms {
				for _, field := range patch.Branches(&patches[i].transforms[n]) {
					all = append(all, patches[i].branch(n, field))
				}
			}
		}
	}
	add(p.environment)
	for i := range p.templates {
		t := &p.templates[i]
		all = append(all, t.point())
		add(t.patches)
		for n := range t.checks {
			all = append(all, sdk.Point{Kind: sdk.ReadinessCheck, Path: t.check(n)})
		}
	}
	add(p.secretPatches)
	return all
}

func (t *template) point() sdk.Point { return sdk.Point{Kind: sdk.ComposedTemplate, Path: t.at} }

// check returns the path in the input of the readiness check with index n.
func (t *template) check(n int) string { return fmt.Sprintf("%s.readinessChecks[%d]", t.at, n) }

func (p *placedPatch) point() sdk.Point { return sdk.Point{Kind: sdk.PatchPoint, Path: p.at} }

// branch returns the point of a branch of a transform of the patch.
func (p *placedPatch) branch(transform int, field string) sdk.Point {
	return sdk.Point{Kind: sdk.TransformBranch, Path: fmt.Sprintf("%s.transforms[%d].%s", p.at, transform, field)}
}

// applied reports a patch, and whether its source had a value.
func (r *run) applied(p *placedPatch, hadSource bool) {
	if r.coverage == nil {
		return
	}
	hit := p.point()
	if !hadSource {
		hit.Branch = sdk.SourceMissing
	}
	r.coverage.Hit(hit)
}
