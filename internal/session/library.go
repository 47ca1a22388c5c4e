package session

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
)

// renderNested implements Session.Render with a library of Compositions. XRs
// that an XR composes have their own Results, after the Result of their parent.
func (s *Session) renderNested(ctx context.Context, docs []manifest.Document, p plan, each func(Result) error) error {
	in := p.in
	lib, err := proc.Await(ctx, func() (library, error) { return s.library(ctx, in) })
	if err == nil && in.validatesXRs() {
		v, failed := xrValidator(lib.docs, Release(in.Profile))
		err = s.validateXRs(&p, v, failed)
	}
	if err != nil {
		return err
	}
	entries := lib.Compositions()
	s.warnUnused(entries...)
	if err := checkSteps(in.Steps, entries...); err != nil {
		return err
	}
	if p.functions, err = s.functions(ctx, p, entries...); err != nil {
		return err
	}
	p.observed.state = lib.dump
	if err := s.loadState(ctx, &p, lib.Library); err != nil {
		return err
	}
	f := family{session: s, plan: p, library: lib.Library, depth: maxDepth}
	if in.Live {
		f.definitions = s.define(lib)
		if docs, err = s.live(lib.Library, p.observed); err != nil {
			return err
		}
	}
	f.render = f.renderOne
	f.next.Store(int64(len(docs)))
	return in.renderEach(ctx, docs, f.results, each)
}

// A library has Compositions and XRDs, their documents and, if Inputs.Live is set, the dump.
type library struct {
	*composition.Library
	docs []manifest.Document
	dump state
}

// library reads the Compositions and XRDs in in.Compositions, in.Composition
// and in.XRD. If in.Live is set, it adds the XRDs in the cluster dump and, if in.Compositions
// is empty, its Compositions.
func (s *Session) library(ctx context.Context, in Inputs) (l library, err error) {
	if in.Live {
		if l.dump, err = s.state(ctx, in); err != nil {
			return l, err
		}
	}
	docs, err := s.definingDocuments(ctx, in)
	if err == nil && in.Live {
		docs, err = l.dump.addDefinitions(docs, len(in.Compositions) == 0)
	}
	if err == nil {
		l.docs = docs
		l.Library, err = composition.Load(docs)
	}
	if err != nil {
		return l, fmt.Errorf("loading Compositions: %w", err)
	}
	l.In(Release(in.Profile))
	ignored := l.Ignored()
	if in.Live && len(ignored) > 0 && len(l.Compositions()) == 0 {
		return l, fmt.Errorf("loading Compositions: %w", &NoCompositionError{ignored})
	}
	for _, one := range ignored {
		s.config.Progress.Note(one + " is neither a Composition nor an XRD, and is ignored")
	}
	return l, nil
}

func (s *Session) definingDocuments(ctx context.Context, in Inputs) (docs []manifest.Document, err error) {
	for _, path := range in.Compositions {
		some, err := s.config.Reader.All(ctx, path)
		if err != nil { // The folder of a project's APIs may be empty.
			return nil, err
		}
		docs = append(docs, some...)
	}
	for _, path := range []string{in.Composition, in.XRD} {
		if path == "" || slices.ContainsFunc(docs, func(d manifest.Document) bool { return filepath.Clean(d.Path) == filepath.Clean(path) }) {
			continue
		}
		doc, err := s.first(ctx, path)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return definitions(docs)
}

// unreadFolder returns a hint with the first folder in one of the parents that has a Composition for
// XRs of a kind. Folders in the parents are not read for a library.
func (s *Session) unreadFolder(ctx context.Context, parents []string, gvk kschema.GroupVersionKind) string {
	for _, parent := range parents {
		entries, _ := afero.ReadDir(s.config.Reader.FS, parent) // A file has no entries.
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			folder := filepath.Join(parent, e.Name())
			docs, err := s.config.Reader.All(ctx, folder)
			if err != nil {
				continue
			}
			if l, err := composition.Load(docs); err == nil && len(l.For(gvk)) > 0 {
				return fmt.Sprintf("name the directory %s, too: directories in %s are not read", folder, parent)
			}
		}
	}
	return ""
}

// A NoCompositionError is the error of Inputs.Live for files with objects, but without a
// Composition. Others describes the objects with their positions.
type NoCompositionError struct{ Others []string }

func (e *NoCompositionError) Error() string {
	return "found no Composition, but " + strings.Join(e.Others, ", ")
}

// define returns the kinds that XRDs in a library, and XRDs, CRDs and MRDs in its dump define. The
// definitions in its documents have priority.
func (s *Session) define(l library) schema.Definitions {
	var objects []map[string]any
	for _, u := range l.dump.dumped {
		objects = append(objects, u.Object)
	}
	for _, doc := range l.docs {
		if object, err := doc.Object(); err == nil {
			objects = append(objects, object)
		}
	}
	all := schema.Definitions{}
	for _, object := range objects {
		defined, err := schema.Define(object)
		if err != nil {
			s.config.Progress.Warn(fmt.Sprintf("reading the schema of %s: %v", composition.Describe(&unstructured.Unstructured{Object: object}), err))
		}
		for _, d := range defined {
			all[d.GroupKind] = d
		}
	}
	return all
}

// A state is the observed state that the user gives. A resource in a document of its own
// (named) belongs to the rendered XR. Resources in a list, as `kubectl get -o yaml` prints
// it, are a dump of a cluster (dumped); only some of them belong to the XR.
type state struct {
	named, dumped []*unstructured.Unstructured
	// at has the positions of the names in the pipeline of the named resources.
	at map[key]string
}

// state reads observed resources. If a dump contains the same object twice, the last one
// is used, as by the engine. If in.Live is set, all resources are a dump.
func (s *Session) state(ctx context.Context, in Inputs) (state, error) {
	all := state{at: map[key]string{}}
	known := map[key]int{} // indexes in all.dumped
	docs, err := documents(ctx, s.config.Reader, "observed resources", in.Observed)
	if err != nil {
		return all, err
	}
	for _, doc := range docs {
		objs, listed, err := decodeAll(doc)
		if err != nil {
			return all, fmt.Errorf("loading observed resources: %w", err)
		}
		if !listed && !in.Live {
			all.named = append(all.named, objs...)
			if err := s.checkGiven(ctx, in, "observed resources", []manifest.Document{doc}, checkMetadata); err != nil {
				return all, err
			}
			field := "metadata.annotations." + reconciler.AnnotationResourceName
			if objs[0].GetAnnotations()[reconciler.AnnotationResourceName] == "" {
				field = "metadata"
			}
			all.at[keyOf(objs[0])] = doc.PositionOf(field)
			continue
		}
		for _, o := range objs {
			k := keyOf(o)
			if i, ok := known[k]; ok && k.name != "" {
				all.dumped[i] = o
				continue
			}
			known[k] = len(all.dumped)
			all.dumped = append(all.dumped, o)
		}
	}
	return all, nil
}

// decodeAll returns the items of the list in a document, and true for listed.
// If the document is not a list, it returns the object.
func decodeAll(doc manifest.Document) (objs []*unstructured.Unstructured, listed bool, err error) {
	u, err := decode(doc)
	if err != nil {
		return nil, false, err
	}
	value, found := u.Object["items"]
	items, ok := value.([]any)
	if !strings.HasSuffix(u.GetKind(), "List") || !found || !ok && value != nil {
		return []*unstructured.Unstructured{u}, false, nil
	}
	for i, item := range items {
		object, _ := item.(map[string]any)
		o := &unstructured.Unstructured{Object: object}
		if o.GetKind() == "" {
			field := fmt.Sprintf("items[%d]", i)
			return nil, true, doc.ErrorOf(field, fmt.Errorf("%s is not an object with a kind", field))
		}
		objs = append(objs, o)
	}
	return objs, true, nil
}

var (
	xrdKind         = apiextv1.CompositeResourceDefinitionGroupVersionKind.GroupKind()
	compositionKind = apiextv1.CompositionGroupVersionKind.GroupKind()
)

// definitions returns docs, in which the Compositions and XRDs of each list
// replace the list.
func definitions(docs []manifest.Document) ([]manifest.Document, error) {
	var all []manifest.Document
	for _, doc := range docs {
		objs, listed, err := decodeAll(doc)
		if err != nil || !listed {
			// If decodeAll failed, composition.Load reports the same error.
			all = append(all, doc)
			continue
		}
		for _, u := range objs {
			if gk := u.GroupVersionKind().GroupKind(); gk != compositionKind && gk != xrdKind {
				continue
			}
			item, err := document(u)
			if err != nil {
				return nil, err
			}
			all = append(all, item)
		}
	}
	return all, nil
}

// addDefinitions adds the XRDs in the cluster dump to docs and, if compositions is true, the
// Compositions. It leaves out objects that docs contains.
func (s state) addDefinitions(docs []manifest.Document, compositions bool) ([]manifest.Document, error) {
	known := map[key]bool{}
	for _, doc := range docs {
		if u, err := decode(doc); err == nil {
			known[keyOf(u)] = true
		}
	}
	for _, u := range s.dumped {
		kind := u.GroupVersionKind().GroupKind()
		if kind != xrdKind && (kind != compositionKind || !compositions) || known[keyOf(u)] {
			continue
		}
		doc, err := document(u)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// document converts an object to a document without line numbers.
func document(u *unstructured.Unstructured) (manifest.Document, error) {
	text, err := json.Marshal(u.Object)
	if err != nil {
		return manifest.Document{}, fmt.Errorf("encoding %s: %w", composition.Describe(u), err)
	}
	return manifest.Document{Path: composition.Describe(u), Text: text}, nil
}

// others returns the objects in the cluster dump that are in none of the stores.
func (s state) others(stores ...reconciler.Store) reconciler.Store {
	known := map[key]bool{}
	for _, u := range slices.Concat(stores...) {
		known[keyOf(u)] = true
	}
	return slices.DeleteFunc(slices.Clone(s.dumped), func(u *unstructured.Unstructured) bool { return known[keyOf(u)] })
}

// live returns a document for each observed XR for which the library has a
// Composition, unless another such XR composes it.
func (s *Session) live(library *composition.Library, c ownerIndex) (docs []manifest.Document, err error) {
	rendered := map[key]bool{}
	for _, o := range c.all {
		if len(library.For(o.GroupVersionKind())) == 0 {
			continue
		}
		if _, err := library.Select(o.Unstructured); err != nil {
			s.config.Progress.Note(fmt.Sprintf("skipping %s: %v", composition.Describe(o.Unstructured), err))
			continue
		}
		rendered[keyOf(o.Unstructured)] = true
	}
	for _, o := range c.all {
		k := keyOf(o.Unstructured)
		owner := key{o.kind, k.namespace, o.controller.Name}
		if !rendered[k] || rendered[owner] || rendered[key{owner.kind, "", owner.name}] {
			continue
		}
		doc, err := document(o.Unstructured)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}
