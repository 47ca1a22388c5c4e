package coverage

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Recorder records the steps and points that the render of one case runs. The zero value
// has recorded nothing.
type Recorder struct {
	mu    sync.Mutex
	steps map[string]*step
}

// A step has the points of a pipeline step, in lists as they were received, and the points that
// ran. It implements sdk.Coverage.
type step struct {
	mu    *sync.Mutex
	known [][]sdk.Point
	ran   map[sdk.Point]bool
}

// Known implements sdk.Coverage. Calls with the same input pass the same list.
func (s *step) Known(all []sdk.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(all)
}

func (s *step) add(all []sdk.Point) {
	if len(all) > 0 && !slices.ContainsFunc(s.known, func(known []sdk.Point) bool { return &known[0] == &all[0] }) {
		s.known = append(s.known, all)
	}
}

// Hit implements sdk.Coverage.
func (s *step) Hit(p sdk.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[p] = true
}

// Wrap returns a Runner that records the calls to next, except the calls of steps in mocked.
func (r *Recorder) Wrap(next function.Runner, mocked func(step string) bool) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		if step := function.Step(ctx); !mocked(step) {
			ctx = sdk.WithCoverage(ctx, r.record(step))
		}
		return next.RunFunction(ctx, name, req)
	})
}

// record records that a step ran, and returns the Coverage to which it reports its points.
func (r *Recorder) record(name string) *step {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps == nil {
		r.steps = map[string]*step{}
	}
	if r.steps[name] == nil {
		r.steps[name] = &step{mu: &r.mu, ran: map[sdk.Point]bool{}}
	}
	return r.steps[name]
}

// A Case has the recorded facts about a case that ran.
type Case struct {
	Composition composition.Entry
	Recorder    *Recorder
	// XR is the composite resource of the case, and XRD its definition. XRD may be nil.
	XR, XRD map[string]any
	// Composed are the composed resources, by name.
	Composed map[string]map[string]any
	// Checked reports whether an expectation of the case checks the field at a path of a
	// composed resource.
	Checked func(resource, path string) bool
}

// A Collector collects the coverage of all cases of a run. It is safe for concurrent use. The
// zero value is empty.
type Collector struct {
	mu  sync.Mutex
	all map[string]*collected
}

type collected struct {
	entry composition.Entry
	cases int
	// steps has the steps that ran, by name.
	steps map[string]*step
	// xr has the fields in the schema of the composite resource, and whether a case set
	// them. composed has the composed fields, and whether a case checks them.
	xr       map[string]bool
	composed map[Field]bool
}

// Add adds a case that ran.
func (c *Collector) Add(one Case) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// An inline Composition in a table has the same position in all rows.
	key := one.Composition.Document.Key()
	of := c.all[key]
	if of == nil {
		of = &collected{
			entry: one.Composition, steps: map[string]*step{}, xr: map[string]bool{}, composed: map[Field]bool{},
		}
		if c.all == nil {
			c.all = map[string]*collected{}
		}
		c.all[key] = of
	}
	of.add(one)
}

func (c *collected) add(one Case) {
	c.cases++
	one.Recorder.mu.Lock()
	for name, s := range one.Recorder.steps {
		if c.steps[name] == nil {
			c.steps[name] = &step{ran: map[sdk.Point]bool{}}
		}
		for _, known := range s.known {
			c.steps[name].add(known)
		}
		maps.Copy(c.steps[name].ran, s.ran)
	}
	one.Recorder.mu.Unlock()
	for path, isSet := range xrFields(one.XRD, one.XR) {
		c.xr[path] = c.xr[path] || isSet
	}
	for name, obj := range one.Composed {
		for path := range leaves(obj) {
			f := Field{name, path}
			c.composed[f] = c.composed[f] || one.Checked(name, path)
		}
	}
}

// Report returns the coverage of all cases that were added.
func (c *Collector) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{Compositions: []Composition{}}
	for _, key := range slices.Sorted(maps.Keys(c.all)) {
		r.Compositions = append(r.Compositions, c.all[key].report())
	}
	return r
}

// A Field is a field of a composed resource.
type Field struct {
	// Resource is the name of the composed resource. Path is the path of the field in it,
	// with [*] for the indexes of lists.
	Resource, Path string
}

// Limits of a schema: the depth of its fields, and their number. A schema may refer to
// itself.
const (
	maxDepth  = 32
	maxFields = 10_000
)

// xrFields returns the leaf fields of spec in the schema of a composite resource, and whether
// the resource sets them to something else than their default. It returns nil for a nil XRD.
func xrFields(xrd, xr map[string]any) map[string]bool {
	var schema map[string]any
	for _, version := range fieldpath.List(xrd, "spec", "versions") {
		if fieldpath.Text(xrd, "spec", "group")+"/"+fieldpath.Text(version, "name") == fieldpath.Text(xr, "apiVersion") {
			schema = fieldpath.Map(version, "schema", "openAPIV3Schema", "properties", "spec")
			break
		}
	}
	if schema == nil {
		return nil
	}
	fields := map[string]bool{}
	addFields(fields, "spec", schema, []any{xr["spec"]}, 0)
	return fields
}

// addFields adds the leaf fields of a schema. values are the values that a composite resource
// has at the path: several if a list is on the way.
func addFields(fields map[string]bool, path string, schema map[string]any, values []any, depth int) {
	properties, items := fieldpath.Map(schema, "properties"), fieldpath.Map(schema, "items")
	switch {
	case depth > maxDepth || len(fields) >= maxFields:
	case len(properties) > 0:
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			var below []any
			for _, v := range values {
				if value, ok := fieldpath.Map(v)[key]; ok {
					below = append(below, value)
				}
			}
			addFields(fields, fieldpath.Join(path, key), fieldpath.Map(properties, key), below, depth+1)
		}
	case items != nil:
		var elements []any
		for _, v := range values {
			elements = append(elements, fieldpath.List(v)...)
		}
		addFields(fields, path+"[*]", items, elements, depth+1)
	default:
		fields[path] = slices.ContainsFunc(values, func(v any) bool {
			return v != nil && !reflect.DeepEqual(v, schema["default"])
		})
	}
}

// leaves iterates over the paths of the leaf fields that a pipeline chose in a composed
// resource. A path may repeat, because the elements of a list have the same path. It leaves
// out the name, and the labels and annotations of Crossplane.
func leaves(obj map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		chosen := maps.Clone(obj)
		for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
			delete(chosen, key)
		}
		for _, field := range []string{"annotations", "labels"} {
			own := maps.Clone(fieldpath.Map(obj, "metadata", field))
			maps.DeleteFunc(own, func(key string, _ any) bool { return strings.Contains(key, "crossplane.io/") })
			if !leavesAt("metadata."+field, own, yield) {
				return
			}
		}
		leavesAt("", chosen, yield)
	}
}

func leavesAt(path string, v any, yield func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !leavesAt(fieldpath.Join(path, key), v[key], yield) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !leavesAt(path+"[*]", e, yield) {
				return false
			}
		}
	default:
		return yield(path)
	}
	return true
}
