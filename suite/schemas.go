package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/crd"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/suite/check"
	"github.com/xfn-dev/xfn/suite/expression"
	"github.com/xfn-dev/xfn/suite/spec"
)

// schemas are those of a run, by what they were read from.
type schemas struct {
	mu    sync.Mutex
	known map[string]func() (definitions, error)
}

// definitions are schemas by kind.
type definitions map[kschema.GroupKind]*schema.Definition

// of returns the definitions that documents hold, which are read once.
func (s *schemas) of(ctx context.Context, docs []manifest.Document) (definitions, error) {
	key := ""
	for _, doc := range docs {
		key += doc.Position() + "\x00" + string(doc.Text) + "\x00"
	}
	s.mu.Lock()
	read, ok := s.known[key]
	if !ok {
		if s.known == nil {
			s.known = map[string]func() (definitions, error){}
		}
		ctx := context.WithoutCancel(ctx)
		read = sync.OnceValues(func() (definitions, error) { return define(ctx, docs) })
		s.known[key] = read
	}
	s.mu.Unlock()
	return read()
}

// define reads definitions. Objects that define nothing are passed over.
func define(ctx context.Context, docs []manifest.Document) (definitions, error) {
	all := definitions{}
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		if !crd.Defines(obj) {
			continue
		}
		crds, err := crd.All(obj)
		if err != nil {
			return nil, &manifest.Error{Path: doc.Path, Line: doc.Line, Err: err}
		}
		for _, c := range crds {
			def, err := schema.New(c)
			if err != nil {
				return nil, &manifest.Error{Path: doc.Path, Line: doc.Line, Err: err}
			}
			for _, fault := range def.Check(ctx) {
				return nil, &manifest.Error{Path: doc.Path, Line: doc.Lines().Of(fault.Field), Err: fmt.Errorf("the schema of %s is not in order: %s: %s", def.GroupKind, fault.Field, fault.Text)}
			}
			all[def.GroupKind] = def
		}
	}
	return all, nil
}

// validate returns what is wrong with objects by the schemas that the case
// names. A kind without a schema is a fault, unless it is to be ignored.
func (a *attempt) validate(ctx context.Context, sources []spec.Source, objects []map[string]any, ignore []string) ([]check.Fault, error) {
	if len(sources) == 0 {
		return nil, hint.Wrap(errors.New("the case names no schemas"), "name CRDs and XRDs by schemas, beside expect")
	}
	var docs []manifest.Document
	for i, source := range sources {
		some, err := a.documents(ctx, source, "schemas", fmt.Sprintf("[%d]", i))
		if err != nil {
			return nil, fmt.Errorf("loading schemas: %w", err)
		}
		docs = append(docs, some...)
	}
	defs, err := a.schemas.of(ctx, docs)
	if err != nil {
		return nil, fmt.Errorf("loading schemas: %w", err)
	}
	var faults []check.Fault
	for i, obj := range objects {
		for _, f := range defs.validate(ctx, obj, ignore) {
			faults = append(faults, check.Fault{Object: i, Field: f.Field, Text: f.Text})
		}
	}
	return faults, nil
}

func (d definitions) validate(ctx context.Context, obj map[string]any, ignore []string) []schema.Fault {
	u := unstructured.Unstructured{Object: obj}
	if slices.Contains(ignore, u.GetKind()) || slices.Contains(ignore, u.GetAPIVersion()+"/"+u.GetKind()) {
		return nil
	}
	def, ok := d[u.GroupVersionKind().GroupKind()]
	if !ok {
		return []schema.Fault{{Text: fmt.Sprintf("there is no schema of %s of %s", u.GetKind(), u.GetAPIVersion())}}
	}
	// Numbers come from functions as protobuf has them, without whole ones.
	plain, _ := expression.Plain(obj).(map[string]any)
	found, err := def.Validate(ctx, plain, schema.Options{})
	if err != nil {
		return []schema.Fault{{Text: err.Error()}}
	}
	return slices.DeleteFunc(found, func(f schema.Fault) bool { return f.Unchecked })
}
