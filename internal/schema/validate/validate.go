package validate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// DefaultNamespace is the default namespace of kubectl.
const DefaultNamespace = "default"

// Options configure a Validator.
type Options struct {
	// Namespace is the default namespace of namespaced objects, as in kubectl. If
	// it is empty, an object without a namespace is invalid.
	Namespace string
	// Old contains the existing objects. An object with the identity of one of
	// them is validated as an update, any other as a creation.
	Old Old
	// Composition, if not nil, is called for Compositions, in addition to their
	// validation by schema.
	Composition CompositionCheck
	// Crossplane is the release of Crossplane whose kinds are valid. Definitions of the
	// same kinds take precedence. The CRDs that a release of v1 generates from XRDs have a
	// field for external secret stores.
	Crossplane schema.Release
	// Unused, if not nil, is called at the end of Documents with the Result of each invalid
	// definition in a file that is not reported otherwise, because no document is of its kind. The
	// Results of XRDs are passed to the caller of Documents instead.
	Unused func(Result)
}

// A CompositionCheck returns the faults of the Composition obj in doc. It
// validates patches by the definitions that known returns; known returns nil
// for an unknown kind, and then the kind that was probably meant, or "". A fault
// whose Line is 0 gets the line of its Field. isLegacy is true if the Composition
// has fields that Crossplane v2 removed.
type CompositionCheck func(ctx context.Context, doc manifest.Document, obj map[string]any, known func(kschema.GroupVersionKind) (def *schema.Definition, near string)) (faults []Fault, isLegacy bool)

// A Validator validates objects. It is safe for concurrent use.
type Validator struct {
	definitions map[kschema.GroupKind]*definition
	// inFiles are the definitions in files, in order.
	inFiles []*definition
	Options
	// onlyNamespaced makes objects of cluster-scoped kinds invalid.
	onlyNamespaced bool
}

// New returns a Validator with the given definitions. If several define the
// same kind, it uses the first. It decodes a definition when it is first used.
func New(all []Definition, o Options) *Validator {
	v := &Validator{definitions: map[kschema.GroupKind]*definition{}, Options: o}
	for _, d := range all {
		read, err := crd.Read(d.Object)
		gk := kschema.GroupKind{Group: read.Group, Kind: read.Kind}
		if _, known := v.definitions[gk]; err == nil && !known {
			if o.Crossplane.Legacy() {
				d.Object = crd.WithSecretStores(d.Object)
			}
			v.definitions[gk] = &definition{Definition: d, cluster: read.Scope != "Namespaced", xrd: sync.OnceValue(func() map[string]any { return xrdIn(d.Source) })}
			if d.Source.Text != nil {
				v.inFiles = append(v.inFiles, v.definitions[gk])
			}
		}
	}
	return v
}

// ComposedBy returns a Validator like v, but for the resources that xr composes. If xr is
// namespaced, their default namespace is v.Namespace, and cluster-scoped resources are
// invalid, because Crossplane does not apply them. Otherwise they have no default namespace.
func (v *Validator) ComposedBy(xr map[string]any) *Validator {
	u := unstructured.Unstructured{Object: xr}
	d, known := v.definitions[u.GroupVersionKind().GroupKind()]
	other := *v
	if known && d.cluster {
		other.Namespace = ""
	} else {
		other.onlyNamespaced = known || u.GetNamespace() != ""
	}
	return &other
}

// long is the size in bytes from which Documents does not wait for the decoding of a document
// after its context is done. Decoding less takes some milliseconds.
const long = 32 << 10

// Documents validates the objects in docs in parallel, and calls each with the results in
// the order of docs. Each item of a list (kind: List) has its own result. If a definition
// is invalid, its result precedes the result of the first object of the defined kind.
// Documents stops at the first error of each and returns it. If ctx is done, it returns
// the cause.
func (v *Validator) Documents(ctx context.Context, docs iter.Seq2[manifest.Document, error], each func(Result) error) error {
	told := reported{}
	err := proc.StreamOrdered(ctx, runtime.GOMAXPROCS(0), read(docs), func(ctx context.Context, _ int, in input) []Result {
		if in.err != nil {
			return []Result{Unreadable(in.doc, in.err)}
		}
		if len(in.doc.Text) < long {
			return v.document(ctx, in.doc)
		}
		// If ctx is done, Documents returns its cause instead of the results.
		results, _ := proc.Await(ctx, func() ([]Result, error) { return v.document(ctx, in.doc), nil })
		return results
	}, func(results []Result) error {
		for _, r := range results {
			if ctx.Err() != nil { // A list may have many results.
				return context.Cause(ctx)
			}
			for _, r := range told.with(r) {
				if err := each(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil && v.Unused != nil {
		err = v.unused(ctx, told, each)
	}
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// An input is a document, or the error that occurred when it was read.
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

// Document validates the object in doc. A list has a result for each item. If a definition is
// invalid, its result precedes the result of the first object of the defined kind.
func (v *Validator) Document(ctx context.Context, doc manifest.Document) []Result {
	return reported{}.all(v.document(ctx, doc))
}

// Decoded is like Document for a document whose object is already decoded. duplicate is the
// error for a duplicate key of the document, or nil. Decoded may change obj.
func (v *Validator) Decoded(ctx context.Context, doc manifest.Document, obj map[string]any, duplicate error) []Result {
	if kind, _ := obj["kind"].(string); strings.HasSuffix(kind, "List") {
		return v.Document(ctx, doc)
	}
	return reported{}.all(v.decoded(ctx, doc, one(doc, obj), duplicate))
}

// Objects validates objects that were not read from a file, such as rendered
// ones. Numbers in the objects may have any Go type.
func (v *Validator) Objects(ctx context.Context, objs ...map[string]any) []Result {
	var all []Result
	for _, obj := range objs {
		plain, err := plain(obj)
		if err != nil {
			all = append(all, Unreadable(manifest.Document{}, err))
			continue
		}
		if r, ok := v.object(ctx, plain, place{}); ok {
			all = append(all, r)
		}
	}
	return reported{}.all(all)
}

func (v *Validator) document(ctx context.Context, doc manifest.Document) []Result {
	objects, duplicate, err := decode(doc)
	if err != nil {
		return []Result{Unreadable(doc, err)}
	}
	return v.decoded(ctx, doc, objects, cmp.Or(duplicate, doc.Ignored()))
}

// decoded returns the results of the objects in doc. lost, if not nil, is the error for content of
// doc that the objects do not have.
func (v *Validator) decoded(ctx context.Context, doc manifest.Document, objects iter.Seq2[place, map[string]any], lost error) []Result {
	var all []Result
	for at, obj := range objects {
		if ctx.Err() != nil { // A list may have many items.
			return nil
		}
		if r, ok := v.object(ctx, obj, at); ok {
			all = append(all, r)
		}
	}
	if lost != nil && len(all) > 0 {
		all[0].Status = Invalid
		all[0].Faults = append(Unreadable(doc, lost).Faults, all[0].Faults...)
	}
	if len(all) > 0 {
		for _, at := range doc.BooleanKeys() {
			all[0].Faults = append(all[0].Faults, Fault{Line: at.Line, Text: at.Err.Error(), Warning: true})
		}
	}
	return all
}

// engineGroup is the API group of objects in rendered output that are not
// resources: results of functions and the context.
const engineGroup = "render.crossplane.io"

// object validates the object at a place, and may change it. The bool is false for an object of
// engineGroup, which is not validated.
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
	own, isLegacy := v.own(ctx, at, obj)
	found := v.validate(ctx, &r, obj, gvk, isLegacy)
	if d := v.definitions[gvk.GroupKind()]; !r.broken && d != nil && len(d.ofSource(ctx, v.Crossplane)) > 0 {
		r.definition = d // An API server would refuse the XRD from which it is derived, or drop fields of it.
	}
	if r.Status == NoSchema && !r.broken {
		r.Nearest = v.nearest(gvk)
		if v.misspells(gvk.GroupKind(), r.Nearest) || r.Nearest != "" && schema.Misspelled(r.APIVersion, r.Kind) == r.Nearest {
			r.Status, found = Invalid, []schema.Fault{v.unmatched(gvk, r.Nearest)}
		} else if found = slices.DeleteFunc(schema.AnyMetadata(obj), isOfOtherTool); len(found) > 0 {
			r.Status = Invalid
		}
	}
	r.Faults = faults(at, found)
	for _, f := range own {
		if !slices.ContainsFunc(found, func(s schema.Fault) bool { return covers(s.Field, f.Field) }) {
			r.Faults = append(r.Faults, f)
		}
	}
	slices.SortStableFunc(r.Faults, byLine)
	if r.Status == Valid && slices.ContainsFunc(r.Faults, func(f Fault) bool { return !f.Warning }) {
		r.Status = Invalid
	}
	if r.broken {
		r.Faults = []Fault{{Text: "the definition of its kind at " + manifest.Position(r.definition.Path, r.definition.Line) + " is invalid"}}
	}
	return r, true
}

// isOfOtherTool reports whether f, a fault in the metadata of an object whose kind has no
// definition, may be due to another tool than Kubernetes, such as Backstage or eksctl: it is an
// unknown field that is neither misspelled nor a field of the object itself.
func isOfOtherTool(f schema.Fault) bool {
	return f.Unknown && f.Nearest == "" && !slices.Contains([]string{"metadata.spec", "metadata.status", "metadata.data"}, f.Field)
}

// validate returns the faults of an object, and sets the status in r: Valid or NoSchema. If the
// definition of the object's kind is invalid, it sets this definition in r.
func (v *Validator) validate(ctx context.Context, r *Result, obj map[string]any, gvk kschema.GroupVersionKind, isLegacy bool) []schema.Fault {
	r.Status = Valid
	if gvk.Version == "" || gvk.Kind == "" {
		var found []schema.Fault
		for _, f := range [][2]string{{"apiVersion", gvk.Version}, {"kind", gvk.Kind}} {
			if f[1] == "" {
				found = append(found, schema.Of(field.Required(field.NewPath(f[0]), "must not be empty")))
			}
		}
		return found
	}
	def, broken := v.definition(ctx, gvk.GroupKind())
	if broken != nil {
		r.Status, r.definition, r.broken = NoSchema, broken, true
		return nil
	}
	var found []schema.Fault
	if crd.Defines(obj) {
		found = definingFaults(ctx, obj)
	}
	if def != nil {
		obj = v.placed(obj, def.Namespaced)
		if isLegacy && v.definitions[gvk.GroupKind()] == nil && !v.Crossplane.Legacy() {
			return append(schema.Metadata(obj, v.old(obj, gvk), def.Namespaced, validation.NameIsDNSSubdomain), ofResources)
		}
		bySchema := v.custom(ctx, def, obj, gvk)
		return slices.Concat(unlessMissing(found, bySchema), v.scope(def.Namespaced), bySchema)
	}
	k, ok := schema.FindKind(gvk)
	if !ok {
		r.Status = NoSchema
		return nil
	}
	r.Partial = gvk.Group != pkgmetav1.Group && gvk.Group != extv1.GroupName // definingFaults checks CRDs.
	obj = v.placed(obj, k.Namespaced)
	bySchema := append(k.Metadata(obj, v.old(obj, gvk)), k.Decode(obj)...)
	return slices.Concat(unlessMissing(found, bySchema), v.scope(k.Namespaced), bySchema)
}

// unlessMissing returns found without the faults of fields that are missing or have a wrong type
// by others.
func unlessMissing(found, others []schema.Fault) []schema.Fault {
	return slices.DeleteFunc(found, func(f schema.Fault) bool {
		return slices.ContainsFunc(others, func(o schema.Fault) bool {
			return o.Field == f.Field && o.Err != nil && (o.Err.Type == field.ErrorTypeRequired || o.Err.Type == field.ErrorTypeTypeInvalid)
		})
	})
}

// definition returns the definition of a kind from v.definitions or from Crossplane, or
// nil. An invalid definition in v.definitions is returned as broken.
func (v *Validator) definition(ctx context.Context, kind kschema.GroupKind) (def *schema.Definition, broken *definition) {
	d, ok := v.definitions[kind]
	if !ok {
		return v.Crossplane.Definition(kind), nil
	}
	def, wrong := d.open(ctx)
	if len(wrong) > 0 {
		return nil, d
	}
	return def, nil
}

// custom returns the faults of obj, a custom resource whose kind def defines.
func (v *Validator) custom(ctx context.Context, def *schema.Definition, obj map[string]any, gvk kschema.GroupVersionKind) []schema.Fault {
	err := def.Serves(gvk.Version)
	if err == nil {
		var found []schema.Fault
		if found, err = def.Validate(ctx, obj, schema.Options{Metadata: true, Old: v.old(obj, gvk), Reuse: true}); err == nil {
			return found
		}
	}
	return []schema.Fault{unserved(gvk, err)}
}

// unserved returns the fault of an object of a version that does not exist or is not served.
func unserved(gvk kschema.GroupVersionKind, err error) schema.Fault {
	return schema.Of(field.Invalid(field.NewPath("apiVersion"), gvk.GroupVersion().String(), fmt.Sprintf("no matches for kind %q: %v", gvk.Kind, err)))
}

// scope returns the fault of an object whose scope is invalid.
func (v *Validator) scope(namespaced bool) []schema.Fault {
	if namespaced || !v.onlyNamespaced {
		return nil
	}
	return []schema.Fault{schema.Of(field.Forbidden(field.NewPath("kind"), "a namespaced composite resource cannot compose a cluster-scoped resource"))}
}

// placed returns obj, or a copy of obj with the default namespace if its kind
// is namespaced and it has no namespace.
func (v *Validator) placed(obj map[string]any, namespaced bool) map[string]any {
	meta, _ := obj["metadata"].(map[string]any)
	invalid := meta == nil && obj["metadata"] != nil
	if !namespaced || v.Namespace == "" || meta["namespace"] != nil || invalid {
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
