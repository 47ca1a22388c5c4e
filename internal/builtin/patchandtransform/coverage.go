package patchandtransform

import (
	"context"
	"fmt"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// list returns the points: the composed resources, the patches that a resource or the
// environment uses, the branches of their transforms, and the readiness checks.
func (of *points) list() []sdk.Point {
	var all []sdk.Point
	addPatches := func(patches []patchPoint) {
		for _, p := range patches {
			all = append(append(all, p.Point), p.branches...)
		}
	}
	addPatches(of.environment)
	for _, t := range of.templates {
		all = append(all, t.Point)
		addPatches(t.patches)
		all = append(all, t.checks...)
	}
	addPatches(of.secret)
	return all
}

// points are the points of an input, with the same indexes as the parts of its program.
type points struct {
	environment []patchPoint
	templates   []templatePoint
	secret      []patchPoint
	// all has each point. The points of a patch set are in it once for each template that uses the
	// set.
	all []sdk.Point
}

type templatePoint struct {
	sdk.Point
	patches []patchPoint
	checks  []sdk.Point
}

type patchPoint struct {
	sdk.Point
	branches []sdk.Point
}

func pointsOf(in *spec.Resources) points {
	sets := map[string][]patchPoint{}
	for i, s := range in.PatchSets {
		sets[s.Name] = patchPoints(fmt.Sprintf("patchSets[%d].patches", i), s.Patches)
	}
	all := points{templates: make([]templatePoint, len(in.Resources))}
	if in.Environment != nil {
		all.environment = patchPoints("environment.patches", in.Environment.Patches)
	}
	if in.WriteConnectionSecretToRef != nil {
		all.secret = patchPoints("writeConnectionSecretToRef.patches", in.WriteConnectionSecretToRef.Patches)
	}
	for i, t := range in.Resources {
		at := fmt.Sprintf("resources[%d]", i)
		of := templatePoint{Point: sdk.Point{Kind: sdk.ComposedTemplate, Path: at}}
		for j, p := range t.Patches {
			if p.Type == spec.PatchSetType {
				of.patches = append(of.patches, sets[*p.PatchSetName]...)
			} else {
				of.patches = append(of.patches, newPatchPoint(fmt.Sprintf("%s.patches[%d]", at, j), &p.Patch))
			}
		}
		for j := range t.ReadinessChecks {
			of.checks = append(of.checks, sdk.Point{Kind: sdk.ReadinessCheck, Path: fmt.Sprintf("%s.readinessChecks[%d]", at, j)})
		}
		all.templates[i] = of
	}
	all.all = all.list()
	return all
}

func patchPoints(at string, patches []spec.Patch) []patchPoint {
	all := make([]patchPoint, len(patches))
	for i := range patches {
		all[i] = newPatchPoint(fmt.Sprintf("%s[%d]", at, i), &patches[i])
	}
	return all
}

func newPatchPoint(at string, p *spec.Patch) patchPoint {
	of := patchPoint{Point: sdk.Point{Kind: sdk.PatchPoint, Path: at}}
	for i := range p.Transforms {
		for _, field := range patch.Branches(&p.Transforms[i]) {
			of.branches = append(of.branches, of.branch(i, field))
		}
	}
	return of
}

// branch returns the point of a branch of a transform of the patch.
func (p patchPoint) branch(transform int, field string) sdk.Point {
	return sdk.Point{Kind: sdk.TransformBranch, Path: fmt.Sprintf("%s.transforms[%d].%s", p.Path, transform, field)}
}

// A coverage reports the points that a run executes. Its methods do nothing if to is nil.
type coverage struct {
	points
	to sdk.Coverage
}

func newCoverage(ctx context.Context, p *program) coverage {
	to := sdk.CoverageOf(ctx)
	if to == nil {
		return coverage{}
	}
	c := coverage{p.points(), to}
	to.Known(c.all)
	return c
}

// composed reports the point of a template, whose resource was composed.
func (c *coverage) composed(t *template) {
	if c.to != nil {
		c.to.Hit(c.templates[t.n].Point)
	}
}

// checked reports the first n readiness checks of a template, which ran.
func (c *coverage) checked(t *template, n int) {
	if c.to == nil {
		return
	}
	for _, check := range c.templates[t.n].checks[:n] {
		c.to.Hit(check)
	}
}

// patchesOf returns the points of a template's patches.
func (c *coverage) patchesOf(t *template) []patchPoint {
	if c.to == nil {
		return nil
	}
	return c.templates[t.n].patches
}

// patch returns the point of the patch with index i. The budget b then reports the branches of
// its transforms.
func (c *coverage) patch(patches []patchPoint, i int, b *patch.Budget) patchPoint {
	if c.to == nil {
		return patchPoint{}
	}
	b.Branch = func(transform int, field string) { c.to.Hit(patches[i].branch(transform, field)) }
	return patches[i]
}

// applied reports a patch, and whether its source had a value.
func (c *coverage) applied(p patchPoint, hadSource bool) {
	if c.to == nil {
		return
	}
	if !hadSource {
		p.Branch = sdk.SourceMissing
	}
	c.to.Hit(p.Point)
}
