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
	environment []patch.Patch
	templates   []template
	secret      *spec.ConnectionSecret
	// secretPatches are the compiled patches of the field secret.
	secretPatches []patch.Patch
	// in is the input.
	in *spec.Resources
	// points are the points of the input, for coverage.
	points func() points
}

// A template is the compiled template of a composed resource.
type template struct {
	name string
	// n is the index of the template in the program.
	n int
	// base is nil if the template has no base, or if the base is invalid. baseErr
	// is the error of an invalid base.
	base    map[string]any
	baseErr error
	patches []patch.Patch
	details []detail
	checks  []check
}

// compile compiles an input. The text of the error is the message of the fatal result.
func compile(in *structpb.Struct) (*program, error) {
	resources := &spec.Resources{}
	if err := sdk.Decode(in, resources); err != nil {
		return nil, fmt.Errorf("cannot get Function input: %w", err)
	}
	if err := resources.Validate(); err != nil {
		return nil, fmt.Errorf("invalid Function input: %w", err)
	}
	p := &program{in: resources, secret: resources.WriteConnectionSecretToRef}
	p.points = sync.OnceValue(func() points { return pointsOf(resources) })
	sets := map[string][]patch.Patch{}
	for _, s := range resources.PatchSets {
		sets[s.Name] = compilePatches(s.Patches)
	}
	patches := 0
	for i := range resources.Resources {
		t, err := compileTemplate(&resources.Resources[i], sets, patch.Most-patches)
		if err != nil {
			return nil, fmt.Errorf("cannot resolve PatchSets: %w", err)
		}
		patches += len(t.patches)
		t.n = i
		p.templates = append(p.templates, t)
	}
	if resources.Environment != nil {
		p.environment = compilePatches(resources.Environment.Patches)
	}
	if p.secret != nil {
		p.secretPatches = compilePatches(p.secret.Patches)
	}
	return p, nil
}

func compilePatches(all []spec.Patch) []patch.Patch { return compileAll(all, patch.Compile) }

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
func compileTemplate(t *spec.Template, sets map[string][]patch.Patch, most int) (template, error) {
	compiled := template{
		name:    t.Name,
		details: compileAll(t.ConnectionDetails, func(d *spec.ConnectionDetail) detail { return detail{d, patch.ParseOptional(d.FromFieldPath)} }),
		checks:  compileAll(t.ReadinessChecks, func(c *spec.ReadinessCheck) check { return check{c, patch.ParseOptional(c.FieldPath)} }),
	}
	compiled.base, compiled.baseErr = decodeBase(t)
	compiled.patches = make([]patch.Patch, 0, len(t.Patches))
	for i := range t.Patches {
		p := &t.Patches[i]
		if p.Type != spec.PatchSetType {
			compiled.patches = append(compiled.patches, patch.Compile(&p.Patch))
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
			add(fmt.Sprintf("environment.patches[%d]", i), "environment patch at index %d: %s", i, p.Odd)
		}
	}
	for _, t := range p.templates {
		for i, c := range t.checks {
			if c.Type == spec.CheckMatchInteger {
				add(fmt.Sprintf("resources[%d].readinessChecks[%d]", t.n, i), "composed resource %q, readiness check at index %d: MatchInteger never passes, because function-patch-and-transform does not accept an observed number as an integer", t.name, i)
			}
		}
		for i, p := range t.patches {
			if p.Odd != "" {
				add(fmt.Sprintf("resources[%d].patches", t.n), "composed resource %q, patch at index %d: %s", t.name, i, p.Odd)
			}
		}
	}
	return odd
}
