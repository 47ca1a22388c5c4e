package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// Options say how objects are validated. The zero value works.
type Options struct {
	// Namespace is given to objects that have none and must, as kubectl gives
	// them one. If it is empty, they are invalid.
	Namespace string
	// Old holds the objects that are replaced. What it lacks is created.
	Old Old
	// Composition checks Compositions beyond the types of their fields. If it is
	// nil, only those are checked.
	Composition CompositionCheck
}

// A CompositionCheck returns what is wrong with a Composition: its own rules, and
// whether its patches fit the definitions that known finds. A fault whose Line is
// 0 gets that of its Field. IsLegacy says that the Composition has fields of
// before v2, which the types lack.
type CompositionCheck func(doc manifest.Document, obj map[string]any, known func(kschema.GroupKind) *schema.Definition) (faults []Fault, isLegacy bool)

// A Validator validates objects. It is safe for concurrent use.
type Validator struct {
	definitions map[kschema.GroupKind]*definition
	Options
}

// New returns a Validator with definitions. What they say is only looked at when
// an object of their kind is. Of two for one kind the first counts.
func New(all []Definition, o Options) *Validator {
	v := &Validator{definitions: map[kschema.GroupKind]*definition{}, Options: o}
	for _, d := range all {
		read, err := crd.Read(d.Object)
		gk := kschema.GroupKind{Group: read.Group, Kind: read.Kind}
		if _, known := v.definitions[gk]; err == nil && !known {
			v.definitions[gk] = &definition{Definition: d, cluster: read.Scope != "Namespaced"}
		}
	}
	return v
}

// In returns a Validator with the same definitions and old objects that gives
// objects another namespace.
func (v *Validator) In(namespace string) *Validator {
	other := *v
	other.Namespace = namespace
	return &other
}

// ClusterScoped reports whether a definition says that objects of a kind are in no
// namespace.
func (v *Validator) ClusterScoped(gk kschema.GroupKind) bool {
	d, ok := v.definitions[gk]
	return ok && d.cluster
}

// Documents validates the objects of documents, several at a time, and hands the
// results to each in the order of the documents, one at a time. Those of a list
// (kind: List) are validated one by one. What is said of a definition that cannot be
// used comes before the first object of its kind. Errors are those of each, and
// the end of ctx.
func (v *Validator) Documents(ctx context.Context, docs iter.Seq2[manifest.Document, error], each func(Result) error) error {
	told := telling{}
	err := proc.StreamOrdered(ctx, runtime.GOMAXPROCS(0), read(docs), func(ctx context.Context, _ int, in input) []Result {
		if in.err != nil {
			return []Result{Unreadable(in.doc, in.err)}
		}
		return v.document(ctx, in.doc)
	}, func(results []Result) error {
		for _, r := range results {
			for _, r := range told.with(r) {
				if err := each(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// An input is a document, or why there is none.
type input struct {
	doc manifest.Document
	err error
}

func read(docs iter.Seq2[manifest.Document, error]) iter.Seq[input] {
	return func(yield func(input) bool) {
		for doc, err := range docs {
			if !yield(input{doc, err}) {
				return
			}
		}
	}
}

// Objects validates objects that come from no file, such as what was rendered. Their
// numbers may be of any type, as they come from functions.
func (v *Validator) Objects(ctx context.Context, objs ...map[string]any) []Result {
	told := telling{}
	var all []Result
	for _, obj := range objs {
		plain, err := plain(obj)
		if err != nil {
			all = append(all, Unreadable(manifest.Document{}, err))
			continue
		}
		if r, ok := v.object(ctx, plain, place{}); ok {
			all = append(all, told.with(r)...)
		}
	}
	return all
}

func (v *Validator) document(ctx context.Context, doc manifest.Document) []Result {
	obj, twice, err := decode(doc)
	if err != nil {
		return []Result{Unreadable(doc, err)}
	}
	var all []Result
	for at, obj := range members(doc, obj) {
		if r, ok := v.object(ctx, obj, at); ok {
			all = append(all, r)
		}
	}
	if twice != nil && len(all) > 0 {
		all[0].Status = Invalid
		all[0].Faults = append(Unreadable(doc, twice).Faults, all[0].Faults...)
	}
	return all
}

// engineGroup is that of what a render prints besides objects.
const engineGroup = "render.crossplane.io"

// object validates an object, unless it is none that an API server takes.
func (v *Validator) object(ctx context.Context, obj map[string]any, at place) (Result, bool) {
	u := unstructured.Unstructured{Object: obj}
	r := Result{
		Path: at.doc.Path, Line: at.line(""), APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(),
		Name: cmp.Or(u.GetName(), u.GetGenerateName(), u.GetAnnotations()["crossplane.io/composition-resource-name"]),
	}
	gvk := u.GroupVersionKind()
	if gvk.Group == engineGroup {
		return r, false
	}
	var own []Fault
	isLegacy := false
	if v.Composition != nil && gvk.Group == apiextv1.Group && gvk.Kind == apiextv1.CompositionKind {
		own, isLegacy = v.composition(ctx, at, obj)
	}
	var found []schema.Fault
	r.Status, found, r.broken = v.validate(ctx, obj, gvk, isLegacy)
	r.Faults = append(faults(at, found), own...)
	slices.SortStableFunc(r.Faults, byLine)
	if r.Status == Valid && slices.ContainsFunc(r.Faults, func(f Fault) bool { return !f.Warning }) {
		r.Status = Invalid
	}
	if r.broken != nil {
		r.Faults = []Fault{{Text: "its definition, " + r.broken.position() + ", is faulty"}}
	}
	return r, true
}

// composition checks a Composition.
func (v *Validator) composition(ctx context.Context, at place, obj map[string]any) ([]Fault, bool) {
	doc := at.doc
	if at.field != "" || doc.Text == nil {
		text, err := json.Marshal(obj)
		if err != nil {
			return nil, false
		}
		doc = manifest.Document{Path: doc.Path, Line: at.line(""), Text: text}
	}
	found, isLegacy := v.Composition(doc, obj, func(kind kschema.GroupKind) *schema.Definition {
		d, ok := v.definitions[kind]
		if !ok {
			return nil
		}
		def, wrong := d.open(ctx)
		if len(wrong) > 0 {
			return nil
		}
		return def
	})
	for i, f := range found {
		if f.Line == 0 {
			found[i].Line = at.line(f.Field)
		}
	}
	return found, isLegacy
}

// validate returns what is wrong with an object by the definition of its kind. A
// definition that cannot be used is returned.
func (v *Validator) validate(ctx context.Context, obj map[string]any, gvk kschema.GroupVersionKind, isLegacy bool) (Status, []schema.Fault, *definition) {
	if gvk.Version == "" || gvk.Kind == "" {
		return Valid, untyped(gvk), nil
	}
	if d, ok := v.definitions[gvk.GroupKind()]; ok {
		def, wrong := d.open(ctx)
		if len(wrong) > 0 {
			return NoSchema, nil, d
		}
		return Valid, v.custom(ctx, def, v.placed(obj, def.Namespaced), gvk), nil
	}
	k, ok := schema.FindKind(gvk)
	if !ok {
		return NoSchema, nil, nil
	}
	obj = v.placed(obj, k.Namespaced)
	found := schema.Metadata(obj, v.old(obj, gvk), k.Namespaced, k.Name)
	switch {
	case isLegacy:
		return Valid, found, nil
	case crd.Defines(obj):
		found = append(found, defining(ctx, obj)...)
	}
	return Valid, append(found, k.Decode(obj)...), nil
}

// custom validates a custom resource.
func (v *Validator) custom(ctx context.Context, def *schema.Definition, obj map[string]any, gvk kschema.GroupVersionKind) []schema.Fault {
	err := def.Serves(gvk.Version)
	if err == nil {
		var found []schema.Fault
		if found, err = def.Validate(ctx, obj, schema.Options{Metadata: true, Old: v.old(obj, gvk)}); err == nil {
			return found
		}
	}
	return []schema.Fault{schema.Of(field.Invalid(field.NewPath("apiVersion"), gvk.GroupVersion().String(), fmt.Sprintf("no matches for kind %q: %v", gvk.Kind, err)))}
}

// placed returns obj in the namespace that it is in if it does not say.
func (v *Validator) placed(obj map[string]any, namespaced bool) map[string]any {
	meta, _ := obj["metadata"].(map[string]any)
	if ns, _ := meta["namespace"].(string); !namespaced || ns != "" || v.Namespace == "" || meta["namespace"] != nil {
		return obj
	}
	if meta == nil && obj["metadata"] != nil {
		return obj
	}
	obj, meta = maps.Clone(obj), maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["namespace"] = v.Namespace
	obj["metadata"] = meta
	return obj
}

// untyped says what an object lacks to be one.
func untyped(gvk kschema.GroupVersionKind) []schema.Fault {
	var found []schema.Fault
	if gvk.Version == "" {
		found = append(found, schema.Of(field.Required(field.NewPath("apiVersion"), "must not be empty")))
	}
	if gvk.Kind == "" {
		found = append(found, schema.Of(field.Required(field.NewPath("kind"), "must not be empty")))
	}
	return found
}

// members are the objects of a list, or the one that a document holds.
func members(doc manifest.Document, obj map[string]any) iter.Seq2[place, map[string]any] {
	return func(yield func(place, map[string]any) bool) {
		lines := lazyLines(doc)
		items, ok := obj["items"].([]any)
		if kind, _ := obj["kind"].(string); !ok || !strings.HasSuffix(kind, "List") {
			yield(place{doc: doc, lines: lines}, obj)
			return
		}
		for i, item := range items {
			at := place{doc: doc, lines: lines, field: fmt.Sprintf("items[%d]", i)}
			member, ok := item.(map[string]any)
			if !ok {
				member = map[string]any{}
			}
			if !yield(at, member) {
				return
			}
		}
	}
}
