package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/session/converge"
)

// all reads the objects of several files or folders.
func (s *Session) all(ctx context.Context, what string, paths []string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, path := range paths {
		objs, err := s.objects(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("loading %s: %w", what, err)
		}
		all = append(all, objs...)
	}
	return all, nil
}

func (s *Session) required(ctx context.Context, what string, paths []string, checks reconciler.Checks) ([]*unstructured.Unstructured, error) {
	if n := len(paths); n > 1 && checks.LastRequired {
		s.config.Progress.Note(fmt.Sprintf("of several sources of %s only the last counts, as in that version of Crossplane: %s", what, paths[n-1]))
		paths = paths[n-1:]
	}
	return s.all(ctx, what, paths)
}

// schemas reads OpenAPI documents: JSON files, or the .json files of folders.
func (s *Session) schemas(ctx context.Context, paths []string) (reconciler.Schemas, error) {
	schemas := reconciler.Schemas{}
	for _, path := range paths {
		docs, err := s.config.Reader.JSON(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("loading required schemas: %w", err)
		}
		for _, doc := range docs {
			obj, err := doc.Object()
			if err != nil {
				return nil, fmt.Errorf("loading required schemas: %w", err)
			}
			schemas.Add(obj)
		}
	}
	if err := schemas.Check(); err != nil {
		return nil, fmt.Errorf("loading required schemas: %s: %w", strings.Join(paths, ", "), err)
	}
	return schemas, nil
}

func (s *Session) first(ctx context.Context, path string) (manifest.Document, error) {
	doc, more, err := s.config.Reader.First(ctx, path)
	if more {
		s.noteMore(path)
	}
	return doc, err
}

func decode(doc manifest.Document) (*unstructured.Unstructured, error) {
	obj, err := doc.Object()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: obj}
	if u.GetKind() == "" {
		return nil, &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New("the object has no kind")}
	}
	return u, nil
}

func (s *Session) objects(ctx context.Context, path string) ([]*unstructured.Unstructured, error) {
	docs, err := s.config.Reader.All(ctx, path)
	if err != nil {
		return nil, err
	}
	var objs []*unstructured.Unstructured
	for _, doc := range docs {
		some, _, err := decodeAll(doc)
		if err != nil {
			return nil, err
		}
		objs = append(objs, some...)
	}
	return objs, nil
}

func (s *Session) xrd(ctx context.Context, path string) (*schema.XRD, error) {
	if path == "" {
		return nil, nil
	}
	doc, err := s.first(ctx, path)
	if err != nil {
		return nil, err
	}
	obj, err := decode(doc)
	if err != nil {
		return nil, err
	}
	xrd, err := schema.NewXRD(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &xrd, nil
}

// functions returns the functions of Compositions, by name: those of the
// functions file (the last of duplicates), the dependencies of its packages,
// and those that are known without a file.
func (s *Session) functions(ctx context.Context, p *plan, compositions ...composition.Entry) error {
	p.functions = map[string]runtimes.Function{}
	if s.config.Functions != "" {
		if err := s.listed(ctx, p); err != nil {
			return fmt.Errorf("loading functions: %w", err)
		}
		if err := s.depend(ctx, p, compositions); err != nil {
			return fmt.Errorf("loading functions: %w", err)
		}
	}
	for _, name := range s.unlistable(compositions) {
		if fn, ok := s.unlisted(name); ok && p.functions[name].Name == "" {
			p.functions[name] = fn
		}
	}
	for name, pkg := range s.config.Packages {
		fn := p.functions[name]
		fn.Name, fn.Package = name, pkg
		p.functions[name] = fn
	}
	return nil
}

// listed adds the functions of the functions file, and the dependencies of
// packages whose metadata is in it.
func (s *Session) listed(ctx context.Context, p *plan) error {
	docs, err := s.config.Reader.All(ctx, lock.Metadata(s.config.Reader.FS, s.config.Functions))
	if err != nil {
		return err
	}
	for _, doc := range docs {
		one, err := s.decoded.listings.Do(contentOf(doc), func() (listing, error) { return decodeListing(doc) })
		if err != nil {
			return err
		}
		if one.dependencies != nil {
			p.dependencies = append(p.dependencies, one.dependencies...)
			continue
		}
		fn := one.function
		fn.Package = s.resolve(filepath.Dir(doc.Path), fn.Package)
		fn.Annotations = annotated(fn.Annotations, s.config.Annotations)
		p.functions[fn.Name] = fn
	}
	return nil
}

// A listing is a document of a functions file.
type listing struct {
	function runtimes.Function
	// dependencies is not nil if the document is a package's metadata.
	dependencies []lock.Dependency
}

func decodeListing(doc manifest.Document) (listing, error) {
	u, err := decode(doc)
	if err != nil {
		return listing{}, err
	}
	if !lock.IsMetadata(u.Object) {
		fn, err := asFunction(doc, u)
		return listing{function: fn}, err
	}
	all, err := lock.Functions(doc, u.Object)
	return listing{dependencies: append([]lock.Dependency{}, all...)}, err
}

func asFunction(doc manifest.Document, u *unstructured.Unstructured) (runtimes.Function, error) {
	if gvk := u.GroupVersionKind(); gvk.Group != "pkg.crossplane.io" || gvk.Kind != "Function" {
		return runtimes.Function{}, &manifest.Error{Path: doc.Path, Line: doc.Line, Err: fmt.Errorf("expected a Function, got %s", composition.Describe(u))}
	}
	pkg, ok, err := unstructured.NestedString(u.Object, "spec", "package")
	if err != nil || ok && pkg == "" {
		return runtimes.Function{}, &manifest.Error{Path: doc.Path, Line: doc.Lines().Of("spec.package"), Err: errors.New("spec.package must be the reference or path of a package")}
	}
	return runtimes.Function{Name: u.GetName(), Package: pkg, Annotations: u.GetAnnotations()}, nil
}

func (s *Session) context(ctx context.Context, files, values map[string]string, checks reconciler.Checks) (*structpb.Struct, error) {
	fields, err := s.contextFields(ctx, files, values, checks)
	if err != nil {
		return nil, err
	}
	fnContext, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding the context: %w", err)
	}
	return fnContext, nil
}

func (s *Session) contextFields(ctx context.Context, files, values map[string]string, checks reconciler.Checks) (map[string]any, error) {
	fields := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		if _, ok := values[key]; ok {
			continue
		}
		doc, _, err := s.config.Reader.First(ctx, files[key])
		if err != nil {
			return nil, fmt.Errorf("loading context %q: %w", key, err)
		}
		if fields[key], err = doc.Value(); err != nil {
			return nil, fmt.Errorf("loading context %q: %w", key, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if checks.JSONContext && !json.Valid([]byte(values[key])) {
			return nil, fmt.Errorf("reading context %q: that version of Crossplane takes only JSON", key)
		}
		v, err := manifest.Document{Path: "value", Line: 1, Text: []byte(values[key])}.Value()
		if err != nil {
			return nil, fmt.Errorf("reading context %q: %w", key, err)
		}
		fields[key] = v
	}
	return fields, nil
}

func (s *Session) observeFixtures(ctx context.Context, paths []string) ([]converge.Fixture, error) {
	var docs []manifest.Document
	for _, path := range paths {
		some, err := s.config.Reader.All(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("loading fixtures: %w", err)
		}
		docs = append(docs, some...)
	}
	fixtures, err := converge.ParseFixtures(docs)
	if err != nil {
		return nil, fmt.Errorf("loading fixtures: %w", err)
	}
	return fixtures, nil
}
