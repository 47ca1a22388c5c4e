package patchandtransform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A program is a compiled input. It can be run for any composite resource.
type program struct {
	environment []placedPatch
	templates   []template
	// secrets is true if the function composes a connection secret.
	secrets bool
	secret  *spec.ConnectionSecret
	// secretPatches are the compiled patches of the field secret.
	secretPatches []placedPatch
	// points returns the points of the input, for coverage. It always returns the same list.
	points func() []sdk.Point
}

// A placedPatch is a compiled patch, its path in the input, and its transforms there.
type placedPatch struct {
	patch.Patch
	at         string
	transforms []spec.Transform
}

// A template is the compiled template of a composed resource.
type template struct {
	// name is the name of the resource, and at the path of the template in the input.
	name, at string
	// base is nil if the template has no base, or if the base is invalid. baseErr
	// is the error of an invalid base.
	base    map[string]any
	baseErr error
	patches []placedPatch
	details []detail
	checks  []check
}

// compile compiles an input. The text of the error is the message of the fatal result.
func compile(in *structpb.Struct, secrets bool) (*program, error) {
	resources := &spec.Resources{}
	var absent []string
	if !secrets {
		absent = []string{"writeConnectionSecretToRef"}
	}
	if err := sdk.Decode(in, resources, absent...); err != nil {
		return nil, fmt.Errorf("cannot get Function input: %w", err)
	}
	if err := resources.Validate(); err != nil {
		return nil, fmt.Errorf("invalid Function input: %w", err)
	}

	p := &program{secrets: secrets, secret: resources.WriteConnectionSecretToRef}
	p.points = sync.OnceValue(p.allPoints)
	sets := map[string][]placedPatch{}
	for i, s := range resources.PatchSets {
		sets[s.Name] = compilePatches(fmt.Sprintf("patchSets[%d].patches", i), s.Patches)
	}

	patches := 0
	for i := range resources.Resources {
		t, err := compileTemplate(&resources.Resources[i], fmt.Sprintf("resources[%d]", i), sets, patch.Most-patches)
		if err != nil {
			return nil, fmt.Errorf("cannot resolve PatchSets: %w", err)
		}
		patches += len(t.patches)
		p.templates = append(p.templates, t)
	}
	if resources.Environment != nil {
		p.environment = compilePatches("environment.patches", resources.Environment.Patches)
	}
	if p.secret != nil {
		p.secretPatches = compilePatches("writeConnectionSecretToRef.patches", p.secret.Patches)
	}
	return p, nil
}

func compilePatches(at string, all []spec.Patch) []placedPatch {
	compiled := make([]placedPatch, len(all))
	for i := range all {
		compiled[i] = compilePatch(at, i, &all[i])
	}
	return compiled
}

func compilePatch(at string, i int, p *spec.Patch) placedPatch {
	return placedPatch{patch.Compile(p), fmt.Sprintf("%s[%d]", at, i), p.Transforms}
}

func compileAll[S, C any](all []S, compile func(*S) C) []C {
	compiled := make([]C, len(all))
	for i := range all {
		compiled[i] = compile(&all[i])
	}
	return compiled
}

// compileTemplate compiles a template. It replaces a reference to a patch set by
// the patches of the set, so an index of a patch in a result counts them. More
// than most patches are an error.
func compileTemplate(t *spec.Template, at string, sets map[string][]placedPatch, most int) (template, error) {
	compiled := template{
		name: t.Name, at: at,
		details: compileAll(t.ConnectionDetails, func(d *spec.ConnectionDetail) detail { return detail{d, patch.ParseOptional(d.FromFieldPath)} }),
		checks:  compileAll(t.ReadinessChecks, func(c *spec.ReadinessCheck) check { return check{c, patch.ParseOptional(c.FieldPath)} }),
	}
	compiled.base, compiled.baseErr = decodeBase(t)
	compiled.patches = make([]placedPatch, 0, len(t.Patches))
	for i := range t.Patches {
		p := &t.Patches[i]
		if p.Type != spec.PatchSetType {
			compiled.patches = append(compiled.patches, compilePatch(at+".patches", i, &p.Patch))
			continue
		}
		set, ok := sets[*p.PatchSetName]
		if !ok {
			return template{}, fmt.Errorf("cannot find PatchSet by name %s", *p.PatchSetName)
		}
		if compiled.patches = append(compiled.patches, set...); len(compiled.patches) > most {
			return template{}, fmt.Errorf("the resources have more than %d patches", patch.Most)
		}
	}
	return compiled, nil
}

func decodeBase(t *spec.Template) (map[string]any, error) {
	if len(t.Base) == 0 || string(t.Base) == "null" {
		return nil, nil
	}
	var base map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(t.Base, &base)
	if err == nil && !patch.HasKind(base) {
		// The blanks in t.Base depend on the build of this program.
		var text bytes.Buffer
		err = cmp.Or(json.Compact(&text, t.Base), error(runtime.NewMissingKindErr(text.String())))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot parse base template of composed resource %q: %w", t.Name, err)
	}
	return base, nil
}

// An oddity describes a part of the input that has an unexpected effect, and has its path.
type oddity struct{ field, text string }

func (p *program) oddities() (odd []oddity) {
	add := func(field, format string, args ...any) {
		odd = append(odd, oddity{field, fmt.Sprintf(format, args...)})
	}
	for i, p := range p.environment {
		if p.Odd != "" {
			add(p.at, "environment patch at index %d: %s", i, p.Odd)
		}
	}
	for _, t := range p.templates {
		for i, c := range t.checks {
			if c.Type == spec.CheckMatchInteger {
				add(t.check(i), "composed resource %q, readiness check at index %d: MatchInteger never passes, because function-patch-and-transform does not accept an observed number as an integer", t.name, i)
			}
		}
		for i, p := range t.patches {
			if p.Odd != "" {
				add(t.at+".patches", "composed resource %q, patch at index %d: %s", t.name, i, p.Odd)
			}
		}
	}
	return odd
}

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

func (t *template) check(n int) string { return fmt.Sprintf("%s.readinessChecks[%d]", t.at, n) }

func (p *placedPatch) point() sdk.Point { return sdk.Point{Kind: sdk.PatchPoint, Path: p.at} }

func (p *placedPatch) branch(transform int, field string) sdk.Point {
	return sdk.Point{Kind: sdk.TransformBranch, Path: fmt.Sprintf("%s.transforms[%d].%s", p.at, transform, field)}
}

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
