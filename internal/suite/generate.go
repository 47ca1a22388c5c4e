package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// A Generator makes composite resources of one kind. It is safe for concurrent use.
type Generator struct {
	apiVersion, kind, path string
	namespaced             bool
	schema                 map[string]any
	// literals are the constants in CEL rules.
	literals  []any
	validator *validate.Validator
	seed      uint64
}

// NewGenerator returns a Generator for the composite resources of an apiVersion that the XRD in a
// document defines. Generators with the same seed make the same resources. NewGenerator returns an
// error for an XRD that an API server refuses. It also returns an error for an unknown keyword in the
// schema that is similar to a known keyword: Crossplane drops unknown keywords, so resources would be
// valid that the author did not intend.
func NewGenerator(ctx context.Context, xrd manifest.Document, apiVersion string, seed uint64) (*Generator, error) {
	obj, err := xrd.Object()
	if err != nil {
		return nil, err
	}
	all, err := inspect.CRDsOf([]manifest.Document{xrd})
	if err != nil {
		return nil, err
	}
	g := &Generator{
		apiVersion: apiVersion, kind: fieldpath.Text(obj, "spec", "names", "kind"), path: xrd.Position(),
		namespaced: len(all) > 0 && all[0].Scope == "Namespaced", seed: seed,
		validator: inspect.NewValidator(all, validate.Options{Namespace: validate.DefaultNamespace}),
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	for _, v := range fieldpath.List(obj, "spec", "versions") {
		if fieldpath.Text(v, "name") == version && fieldpath.Text(obj, "spec", "group") == group {
			g.schema = fieldpath.Map(v, "schema", "openAPIV3Schema")
		}
	}
	if g.schema == nil {
		return nil, fmt.Errorf("the XRD at %s has no schema for %s of %s", g.path, g.kind, apiVersion)
	}
	// With an invalid XRD, the validator would refuse every generated value.
	for _, r := range g.validator.Objects(ctx, g.head("a")) {
		if r.Path != "" || r.Status == validate.NoSchema {
			f := r.Faults[0]
			return nil, fmt.Errorf("the XRD at %s is invalid: %s", manifest.Position(xrd.Path, max(f.Line, xrd.Line)), f)
		}
	}
	g.literals = celLiterals(g.schema)
	return g, nil
}

// head returns a composite resource that has only a name.
func (g *Generator) head(name string) map[string]any {
	metadata := map[string]any{"name": name}
	if g.namespaced {
		metadata["namespace"] = validate.DefaultNamespace
	}
	return map[string]any{"apiVersion": g.apiVersion, "kind": g.kind, "metadata": metadata}
}

// Faults returns the reasons why an API server would refuse a composite resource.
func (g *Generator) Faults(ctx context.Context, xr map[string]any) []validate.Fault {
	var all []validate.Fault
	for _, r := range g.validator.Objects(ctx, xr) {
		for _, f := range r.Faults {
			if !f.Warning {
				all = append(all, f)
			}
		}
	}
	return all
}

// Limits of the search for a valid resource: how often a new resource is tried, and how often
// its invalid fields are replaced.
const (
	maxStarts  = 20
	maxRepairs = 100
)

// ErrNoInput is the error if no value was found that a schema allows.
var ErrNoInput = errors.New("no value was found that the schema allows")

// XR returns the composite resource with the number n. Number 0 has only required fields if
// these are valid alone, and number 1 all fields; the others have optional fields at random.
func (g *Generator) XR(ctx context.Context, n int) (map[string]any, error) {
	m := &valueMaker{Rand: rand.New(rand.NewPCG(g.seed, uint64(n))), literals: g.literals}
	refused := map[string]int{}
	worst := validate.Fault{}
	for start := range maxStarts {
		switch {
		case start > 0:
			m.optional = 0.5
		case n < 2:
			m.optional = float64(n)
		default:
			m.optional = []float64{0.1, 0.5, 0.9}[m.IntN(3)]
		}
		xr := g.head(m.name(n))
		for _, key := range m.keys(g.schema) {
			xr[key] = m.value(propertySchema(g.schema, key), 1)
		}
		for repair := range maxRepairs {
			faults := g.Faults(ctx, xr)
			if len(faults) == 0 {
				return xr, nil
			}
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			if repair > maxRepairs/4 {
				m.optional = max(m.optional, 0.5)
			}
			for _, f := range faults {
				if refused[f.Field]++; refused[f.Field] > refused[worst.Field] || f.Field == worst.Field {
					worst = f
				}
				g.repair(m, xr, f.Field)
			}
		}
	}
	return nil, fmt.Errorf("making %s by the XRD at %s: field %s: %w, in %d tries: %s", hint.An(g.kind), g.path, worst.Field, ErrNoInput, maxStarts*maxRepairs, worst)
}

func (g *Generator) repair(m *valueMaker, xr map[string]any, text string) {
	path, err := fieldpath.Parse(text)
	if err != nil || len(path) == 0 || propertySchema(g.schema, path[0].Key) == nil || path[0].Key == "metadata" {
		path = fieldpath.Path{fieldpath.Key("spec")}
	}
	key := path[0].Key
	xr[key] = m.repair(propertySchema(g.schema, key), xr[key], path[1:], 1)
}

// repair returns v with another value at a path. It sometimes replaces a value above the path
// or removes a field, because a rule may be about several fields.
func (m *valueMaker) repair(schema map[string]any, v any, path fieldpath.Path, depth int) any {
	switch of := v.(type) {
	case map[string]any:
		if len(path) == 0 && len(of) > 0 && m.IntN(2) == 0 {
			keys := m.keys(schema)
			if len(keys) > 0 {
				path = fieldpath.Path{fieldpath.Key(keys[m.IntN(len(keys))])}
			}
		}
		if len(path) == 0 || m.IntN(8) == 0 {
			break
		}
		key := path[0].Key
		below := propertySchema(schema, key)
		if below == nil || !listHas(schema["required"], key) && m.IntN(4) == 0 {
			delete(of, key)
			return of
		}
		of[key] = m.repair(below, of[key], path[1:], depth+1)
		return of
	case []any:
		if len(path) == 0 || path[0].Index >= len(of) || m.IntN(8) == 0 {
			break
		}
		i := path[0].Index
		of[i] = m.repair(fieldpath.Map(schema, "items"), of[i], path[1:], depth+1)
		return of
	}
	return m.value(schema, depth)
}

func listHas(v any, key string) bool {
	return slices.Contains(fieldpath.List(v), any(key))
}

func propertySchema(schema map[string]any, key string) map[string]any {
	if p := fieldpath.Map(schema, "properties", key); p != nil {
		return p
	}
	return fieldpath.Map(schema, "additionalProperties")
}
