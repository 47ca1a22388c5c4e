package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
)

// A Subject is the output of a render, which is checked.
type Subject struct {
	// Document is the composite resource as xfn render prints it, XR the composite resource
	// with all of its fields. Composed has the composed resources. Of an Operation, XR is the
	// Operation, and Composed the resources that it applies.
	Document, XR map[string]any
	Composed     []map[string]any
	// IsOperation is true for an Operation. Names then has the names of resources in the
	// pipeline, by Identity.
	IsOperation bool
	Names       map[string]string
	// Documents are XR, Composed, the results and the context as documents.
	Documents []map[string]any
	// Results has the results that functions returned.
	Results []Reported
	// Ready has the composed resources, by name, that functions reported as ready.
	Ready map[string]bool
	// Context is the context that the last function returned. Connection
	// has the connection details of the composite resource.
	Context, Connection map[string]any
	// Passes is the number of passes of the render. Settled is true if the
	// last pass changed nothing. ReadySince is the first pass from which on
	// the composite resource was ready, or 0.
	Passes, ReadySince int
	Settled            bool
	// Trace returns the trace of the render. It is called at most once.
	Trace func() report.Trace

	origins func() []report.Origin
	values  func() map[string]any
	byName  map[string]map[string]any
	names   []string
}

// Reported is a result that the function of a pipeline step returned.
type Reported struct {
	Step string
	report.Result
}

func (s *Subject) index() {
	s.byName = make(map[string]map[string]any, len(s.Composed))
	for _, obj := range s.Composed {
		name := s.name(obj)
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

func (s *Subject) plain() map[string]any {
	resources := make(map[string]any, len(s.byName))
	for name, obj := range s.byName {
		resources[name] = Plain(obj)
	}
	results := make([]any, len(s.Results))
	for i, r := range s.Results {
		results[i] = map[string]any{"step": r.Step, "severity": r.Severity, "message": r.Message, "reason": r.Reason}
	}
	xr, operation := Plain(s.XR), any(map[string]any{})
	if s.IsOperation {
		xr, operation = operation, xr
	}
	return map[string]any{"xr": xr, "operation": operation, "resources": resources, "results": results, "context": Plain(s.Context)}
}

// Identity returns a key for an object: its apiVersion, kind, namespace and name.
func Identity(obj map[string]any) string {
	u := unstructured.Unstructured{Object: obj}
	return strings.Join([]string{u.GetAPIVersion(), u.GetKind(), u.GetNamespace(), u.GetName()}, "\x00")
}

func (s *Subject) what() string {
	if s.IsOperation {
		return "Operation"
	}
	return "composite resource"
}

// name returns the name of a resource in the pipeline, or "".
func (s *Subject) name(obj map[string]any) string {
	return cmp.Or(reconciler.ResourceName(obj), s.Names[Identity(obj)])
}

func kindAndName(obj map[string]any) string {
	return fieldpath.Text(obj, "kind") + "/" + fieldpath.Text(obj, "metadata", "name")
}

// find returns the composed resource that name identifies: by its name in the
// Composition, as Kind/name, or by its kind if only one resource has the kind.
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
		names := make([]string, len(ofKind))
		for i, obj := range ofKind {
			names[i] = cmp.Or(s.name(obj), kindAndName(obj))
		}
		return nil, fmt.Errorf("there are %d resources of kind %s: name one of %s", len(ofKind), name, strings.Join(names, ", "))
	}
}

type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// missing returns an error that names similar or all resources.
func (s *Subject) missing(name string) error {
	known := slices.Clone(s.names)
	for _, obj := range s.Composed {
		known = append(known, kindAndName(obj), fieldpath.Text(obj, "kind"))
	}
	text := ", only " + list(s.names)
	if len(s.Composed) == 0 {
		text = ": nothing is composed"
	} else if near := hint.Nearest(name, known); near != "" {
		text = fmt.Sprintf(": is it %q?", near)
	}
	return &missingError{fmt.Sprintf("there is no resource %q%s", name, text)}
}

// list joins the sorted names. It prints at most twelve, and the number of the others.
func list(names []string) string {
	const most = 12
	names = slices.Sorted(slices.Values(names))
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// step returns the pipeline step that last set the field at path, a field in it, or a
// field that contains it. It returns "" if no step did. For the XR, resource is "".
func (s *Subject) step(resource, path string) string {
	var around report.Origin
	for _, o := range s.origins() {
		switch {
		case o.Resource != resource:
		case path == "" || fieldpath.HasPrefix(o.Path, path):
			return o.Step
		case fieldpath.HasPrefix(path, o.Path) && len(o.Path) > len(around.Path):
			around = o
		}
	}
	return around.Step
}
