package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// documents returns the documents in files and folders. A folder without YAML files is an error.
func documents(ctx context.Context, r manifest.Reader, what string, paths []string) ([]manifest.Document, error) {
	var docs []manifest.Document
	for _, path := range paths {
		some, err := r.Some(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("loading %s: %w", what, err)
		}
		docs = append(docs, some...)
	}
	return docs, nil
}

// Objects returns the objects in files and folders. The items of a list replace the list. what
// names the objects in errors.
func Objects(ctx context.Context, r manifest.Reader, what string, paths []string) ([]*unstructured.Unstructured, error) {
	docs, err := documents(ctx, r, what, paths)
	if err != nil {
		return nil, err
	}
	return objectsIn(what, docs)
}

func objectsIn(what string, docs []manifest.Document) (all []*unstructured.Unstructured, err error) {
	for _, doc := range docs {
		objs, _, err := decodeAll(doc)
		if err != nil {
			return nil, fmt.Errorf("loading %s: %w", what, err)
		}
		all = append(all, objs...)
	}
	return all, nil
}

func (s *Session) required(ctx context.Context, p plan, what string, paths []string) ([]*unstructured.Unstructured, error) {
	if n := len(paths); n > 1 && p.version.LastRequired {
		s.config.Progress.Note(fmt.Sprintf("only the last source of %s is used, as in the imitated version of Crossplane: %s", what, paths[n-1]))
		paths = paths[n-1:]
	}
	return s.given(ctx, p.in, what, paths, checkRequired)
}

// schemas reads OpenAPI documents. Each path is a JSON file, or a folder with .json files.
func (s *Session) schemas(ctx context.Context, paths []string) (reconciler.Schemas, error) {
	schemas := reconciler.Schemas{}
	for _, path := range paths {
		docs, err := s.config.Reader.JSON(ctx, path)
		found := len(docs) == 0
		for i := 0; err == nil && i < len(docs); i++ {
			var obj map[string]any
			obj, err = docs[i].Object()
			found = found || obj["openapi"] != nil || obj["components"] != nil // A folder may have other files.
			schemas.Add(obj)
		}
		if err == nil && !found {
			err = fmt.Errorf("%s: expected an OpenAPI v3 document with components.schemas", docs[0].Position())
		}
		if err != nil {
			return nil, fmt.Errorf("loading required schemas: %w", err)
		}
	}
	if err := schemas.Check(); err != nil {
		return nil, fmt.Errorf("loading required schemas: %s: %w", strings.Join(paths, ", "), err)
	}
	return schemas, nil
}

// A checked is a Composition and its problems. The problems do not include
// missing functions.
type checked struct {
	composition.Entry
	problems []composition.Problem
}

func (s *Session) composition(ctx context.Context, path string) (checked, error) {
	doc, err := s.first(ctx, path)
	if err != nil {
		return checked{}, err
	}
	return s.compositions.Do(doc.Key(), func() (checked, error) {
		e, err := composition.Decode(doc.WithJSON())
		if err != nil {
			return checked{}, err
		}
		return checked{e, composition.Check(e, nil)}, nil
	})
}

// warnDuplicates warns if an object contains a duplicate key. The last value is used.
func (s *Session) warnDuplicates(doc manifest.Document) {
	_, err := doc.StrictJSON()
	s.warnDuplicate(err)
}

func (s *Session) warnDuplicate(err error) {
	if err != nil {
		s.config.Progress.Warn(err.Error() + "; the last one is used")
	}
}

func (s *Session) first(ctx context.Context, path string) (manifest.Document, error) {
	doc, more, err := s.config.Reader.First(ctx, path)
	if more {
		s.noteMore(path)
	}
	return doc, err
}

func (s *Session) noteMore(path string) {
	s.config.Progress.Note(fmt.Sprintf("%s has several documents; only the first is used", path))
}

func decode(doc manifest.Document) (*unstructured.Unstructured, error) {
	obj, err := doc.Object()
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: obj}, checkKind(doc, obj)
}

func checkKind(doc manifest.Document, obj map[string]any) error {
	if err := doc.CheckType(obj); err != nil {
		return err
	}
	if kind, _ := obj["kind"].(string); kind != "" {
		return nil
	}
	err := &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New("the object has no kind")}
	if near := hint.Nearest("kind", manifest.Keys(obj)); near != "" && near != "kind" {
		err.Line = doc.Lines().Of(near)
		return hint.Wrap(err, "did you mean kind in place of "+near+"?")
	}
	return hint.Wrap(err, "expected an object of Kubernetes, which has apiVersion and kind; other YAML, such as Helm values, does not have them")
}

// An xrdKey is the key of an XRD, and the release of Crossplane that uses it.
type xrdKey struct {
	doc     string
	release schema.Release
}

// A decodedXRD is an XRD, its source, and the results of xrValidator for it.
type decodedXRD struct {
	schema.XRD
	doc       manifest.Document
	validator *validate.Validator
	failed    []error
}

// xrd reads the XRD at p.in.XRD, if it is set, and sets p.xrd and p.validator. With
// Compositions, the XRDs of the library decide which XRs are valid.
func (s *Session) xrd(ctx context.Context, p *plan) error {
	if p.in.XRD == "" {
		return nil
	}
	doc, err := s.first(ctx, p.in.XRD)
	if err == nil {
		key := xrdKey{doc.Key(), Release(p.in.Profile)}
		p.xrd, err = s.xrds.Do(key, func() (*decodedXRD, error) { return decodeXRD(doc, key.release) })
	}
	if err != nil {
		return fmt.Errorf("loading the XRD: %w", err)
	}
	if len(p.in.Compositions) > 0 || !p.in.validatesXRs() {
		return nil
	}
	if p.version.XRDKind && len(p.xrd.failed) > 0 && !p.xrd.IsNamed() {
		return fmt.Errorf("loading the XRD: %w", p.xrd.failed[0])
	}
	return s.validateXRs(p, p.xrd.validator, p.xrd.failed)
}

func decodeXRD(doc manifest.Document, release schema.Release) (d *decodedXRD, err error) {
	d = &decodedXRD{doc: doc}
	doc = doc.WithJSON()
	obj, err := decode(doc)
	if err != nil {
		return d, err
	}
	if d.XRD, err = schema.NewXRD(obj.Object); err != nil {
		field := "kind"
		if crd.IsXRD(obj.Object) {
			field = "spec.scope"
		}
		return d, fmt.Errorf("%s: %w", doc.PositionOf(field), err)
	}
	if found := d.Undecodable(); len(found) > 0 {
		return d, fmt.Errorf("%s: %s", doc.PositionOf(found[0].Field), found[0])
	}
	d.XRD = d.In(release)
	d.validator, d.failed = xrValidator([]manifest.Document{doc}, release)
	return d, nil
}

func (s *Session) context(ctx context.Context, p plan) (*structpb.Struct, error) {
	fields, err := s.contextFields(ctx, p)
	if err != nil {
		return nil, err
	}
	fnContext, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding the context: %w", err)
	}
	return fnContext, nil
}

var errNotJSON = errors.New("expected JSON, because the imitated version of Crossplane accepts no YAML")

func (s *Session) contextFields(ctx context.Context, p plan) (map[string]any, error) {
	in, fields := p.in, map[string]any{}
	for _, key := range manifest.Keys(in.ContextFiles) {
		if _, ok := in.ContextValues[key]; ok {
			continue
		}
		doc, _, err := s.config.Reader.First(ctx, in.ContextFiles[key])
		if errors.Is(err, manifest.ErrEmpty) && !p.version.JSONContext {
			s.config.Progress.Warn(fmt.Sprintf("%s is empty, so the context %q is null", in.ContextFiles[key], key))
			fields[key] = nil
			continue
		}
		if err == nil && p.version.JSONContext && !json.Valid(doc.Text) {
			err = fmt.Errorf("%s: %w", manifest.Position(doc.Path, doc.Line), errNotJSON)
		}
		if err == nil {
			fields[key], err = doc.Value()
		}
		if err != nil {
			return nil, fmt.Errorf("loading context %q: %w", key, err)
		}
	}
	for _, key := range manifest.Keys(in.ContextValues) {
		text := []byte(in.ContextValues[key])
		if p.version.JSONContext && !json.Valid(text) {
			return nil, fmt.Errorf("reading context %q: %w", key, errNotJSON)
		}
		var err error
		if fields[key], err = (manifest.Document{Path: "value", Line: 1, Text: text}).Value(); err != nil {
			return nil, hint.Wrap(fmt.Errorf("reading context %q: %w", key, err), `the value is YAML or JSON, such as {"region": "eu"}`)
		}
	}
	s.checkContext(in, fields)
	return fields, nil
}

// A Resolver selects versions of packages for dependencies.
type Resolver interface {
	// Reference returns the image reference of the version that satisfies the
	// constraint of d. Its errors contain the position of d.
	Reference(ctx context.Context, d lock.Dependency) (string, error)
}

// depend adds a function for each dependency in l that a pipeline calls.
func (s *Session) depend(ctx context.Context, l *functionList, entries []composition.Entry) error {
	if len(l.dependencies) == 0 || s.config.Replay != nil {
		return nil
	}
	for _, name := range functionNames(nil, entries...) {
		_, given := s.config.Packages[name]
		if _, known := l.byName[name]; known || given || s.config.Runners[name] != nil {
			continue
		}
		d, ok := lock.Named(l.dependencies, name)
		if !ok {
			continue
		}
		pkg, ok := s.standIn(d)
		if !ok || s.config.Locked {
			var err error
			if pkg, err = s.config.Dependencies.Reference(ctx, d); err != nil {
				return err
			}
		}
		l.byName[name] = runtimes.Function{Name: name, Package: pkg, Annotations: s.config.Annotations}
	}
	return nil
}

// standIn returns the package reference of the builtin that will run instead of
// the dependency d, if the version constraint allows the builtin. No registry
// is then asked for versions.
func (s *Session) standIn(d lock.Dependency) (string, bool) {
	runtime := s.config.Runtime
	if runtime == Auto {
		// choose reports an unknown runtime.
		runtime, _ = ParseRuntime(s.config.Annotations[AnnotationRuntime])
	}
	b, ok := s.config.Builtins.For(d.Package)
	if runtime == Builtin {
		b, ok = s.config.Builtins.Forced(d.Package)
	}
	switch {
	case runtime != Auto && runtime != Builtin, !ok || s.config.Crosscheck || lock.IsDigest(d.Version):
		return "", false
	case d.Version == "":
		return d.Package, true
	case lock.IsExact(d.Version):
		return d.Package + ":" + d.Version, true
	default:
		return d.Package + ":" + b.Measured, lock.Allows(d.Version, b.Measured)
	}
}

// available returns the names of all functions, sorted.
func (l functionList) available() []string {
	names := slices.Collect(maps.Keys(l.byName))
	for _, d := range l.dependencies {
		names = append(names, d.ObjectName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
