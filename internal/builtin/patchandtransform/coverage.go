package patchandtransform

import (
	"context"
	"fmt"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// points are the points of an input, with the same indexes as the parts of its program.
type points struct {
	environment []patchPoint
	templates   []templatePoint
	secret      []patchPoint
	// all has each point: the composed resources, the patches that a resource or the environment uses,
	// the branches of their transforms, and the readiness checks. The points of a patch set are in it
	// once for each template that uses the set.
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
	add := func(patches []patchPoint) []patchPoint {
		for _, p := range patches {
			all.all = append(append(all.all, p.Point), p.branches...)
		}
		return patches
	}
	if in.Environment != nil {
		all.environment = add(patchPoints("environment.patches", in.Environment.Patches))
	}
	for i, t := range in.Resources {
		at := fmt.Sprintf("resources[%d]", i)
		of := templatePoint{Point: sdk.Point{Kind: sdk.ComposedTemplate, Path: at}}
		all.all = append(all.all, of.Point)
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
		add(of.patches)
		all.all = append(all.all, of.checks...)
		all.templates[i] = of
	}
	if in.WriteConnectionSecretToRef != nil {
		all.secret = add(patchPoints("writeConnectionSecretToRef.patches", in.WriteConnectionSecretToRef.Patches))
	}
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

// applied reports the patch with index i, and whether its source had a value.
func (c *coverage) applied(patches []patchPoint, i int, hadSource bool) {
	if c.to == nil {
		return
	}
	hit := patches[i].Point
	if !hadSource {
		hit.Branch = sdk.SourceMissing
	}
	c.to.Hit(hit)
}
