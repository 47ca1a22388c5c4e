package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/report"
)

// A Subject is what a render made.
type Subject struct {
	// Document is the composite resource as `xfn render` prints it, XR the same
	// with everything that it had. Composed are the composed resources.
	Document, XR map[string]any
	Composed     []map[string]any
	// Results are what functions reported.
	Results []Reported
	// Ready says of composed resources, by name, whether functions called them
	// ready.
	Ready map[string]bool
	// Context is what functions left, and Connection the connection details.
	Context, Connection map[string]any
	// Passes is how many were made, and Settled that the last changed nothing.
	// ReadySince is the pass from which on the composite resource was ready, or 0.
	Passes, ReadySince int
	Settled            bool
	// Trace returns what each step did. It is called at most once.
	Trace func() report.Trace

	origins func() []report.Origin
	values  func() map[string]any
	byName  map[string]map[string]any
	names   []string
}

// Reported is a result of a function.
type Reported struct {
	Step string
	report.Result
}

// index prepares a subject for being asked.
func (s *Subject) index() {
	s.byName = make(map[string]map[string]any, len(s.Composed))
	for _, obj := range s.Composed {
		name := reconciler.ResourceName(obj)
		s.byName[name] = obj
		s.names = append(s.names, name)
	}
	s.origins = sync.OnceValue(func() []report.Origin {
		if s.Trace == nil {
			return nil
		}
		return s.Trace().Blame()
	})
	s.values = sync.OnceValue(s.plain)
}

// plain returns the values that expressions see.
func (s *Subject) plain() map[string]any {
	resources := make(map[string]any, len(s.byName))
	for name, obj := range s.byName {
		resources[name] = Plain(obj)
	}
	results := make([]any, len(s.Results))
	for i, r := range s.Results {
		results[i] = map[string]any{"step": r.Step, "severity": r.Severity, "message": r.Message, "reason": r.Reason}
	}
	return map[string]any{"xr": Plain(s.XR), "resources": resources, "results": results, "context": Plain(s.Context)}
}

func kindAndName(obj map[string]any) string {
	return fieldpath.Text(obj, "kind") + "/" + fieldpath.Text(obj, "metadata", "name")
}

// find returns the composed resource that a name stands for: one of that name in
// the Composition, or of that Kind/name, or the only one of that kind.
func (s *Subject) find(name string) (map[string]any, error) {
	if obj, ok := s.byName[name]; ok {
		return obj, nil
	}
	var ofKind []map[string]any
	for _, obj := range s.Composed {
		if kindAndName(obj) == name {
			return obj, nil
		}
		if fieldpath.Text(obj, "kind") == name {
			ofKind = append(ofKind, obj)
		}
	}
	switch len(ofKind) {
	case 0:
		return nil, s.missing(name)
	case 1:
		return ofKind[0], nil
	default:
		return nil, fmt.Errorf("there are %d resources of kind %s: name one of %s", len(ofKind), name, strings.Join(namesOf(ofKind), ", "))
	}
}

// notThere says that a resource is missing.
type notThere struct{ text string }

func (e *notThere) Error() string { return e.text }

// missing says what there is in place of a resource that is not there.
func (s *Subject) missing(name string) error {
	if len(s.Composed) == 0 {
		return &notThere{fmt.Sprintf("there is no resource %q: nothing is composed", name)}
	}
	known := slices.Clone(s.names)
	for _, obj := range s.Composed {
		known = append(known, kindAndName(obj), fieldpath.Text(obj, "kind"))
	}
	if near := hint.Nearest(name, known); near != "" {
		return &notThere{fmt.Sprintf("there is no resource %q: is it %q?", name, near)}
	}
	return &notThere{fmt.Sprintf("there is no resource %q, only %s", name, list(s.names))}
}

func namesOf(objs []map[string]any) []string {
	names := make([]string, len(objs))
	for i, obj := range objs {
		names[i] = cmp.Or(reconciler.ResourceName(obj), kindAndName(obj))
	}
	return names
}

// list puts names in words, of many the first ones.
func list(names []string) string {
	const most = 12
	names = slices.Sorted(slices.Values(names))
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// keysOf is what an object has.
func keysOf(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// step returns the pipeline step that set a field of a resource last, or what is
// below it, or what is around it; that of the XR is named "". It is "" if no step did.
func (s *Subject) step(resource, path string) string {
	var around report.Origin
	for _, o := range s.origins() {
		switch {
		case o.Resource != resource:
		case path == "" || beginsWith(o.Path, path):
			return o.Step
		case beginsWith(path, o.Path) && len(o.Path) > len(around.Path):
			around = o
		}
	}
	return around.Step
}

// beginsWith reports whether a path is another one or below it.
func beginsWith(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
