package validate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// A Definition is a CRD, and the file or package that contains it. The CRD may
// be generated from an XRD or MRD.
type Definition struct {
	Object map[string]any
	// Path is the file or package of the CRD. Line is 0 if it is unknown.
	Path string
	Line int
	// Source is the document at that position, or empty. It has the lines of the CRD's faults
	// and may be the XRD or MRD from which the CRD is derived.
	Source manifest.Document
}

// A definition is a Definition that is decoded at its first use.
type definition struct {
	Definition
	cluster bool

	once   sync.Once
	opened atomic.Bool // opened is true after once.
	def    *schema.Definition
	faults []schema.Fault

	// xrd returns the XRD in Source, or nil. Callers must not change it.
	xrd func() map[string]any

	// sourced are the faults of the XRD that the schema of its kind finds.
	onceSourced sync.Once
	sourced     []schema.Fault
}

// open decodes and checks the CRD at the first call, even if ctx is done, because later calls
// return the same result. It returns the decoded definition, or the faults of the CRD.
func (d *definition) open(ctx context.Context) (*schema.Definition, []schema.Fault) {
	d.once.Do(func() {
		d.def, d.faults = d.read(context.WithoutCancel(ctx))
		d.opened.Store(true)
	})
	return d.def, d.faults
}

func (d *definition) read(ctx context.Context) (*schema.Definition, []schema.Fault) {
	def, err := schema.New(d.Object)
	if err != nil {
		return nil, invalid(err, "spec", "versions")
	}
	xrd := d.xrd()
	if xrd == nil {
		found := def.Check(ctx)
		if d.Source.Text != nil {
			// API servers drop properties that are beside the keywords of a schema.
			found = append(found, slices.DeleteFunc(keywords(d.Object), func(f schema.Fault) bool { return !f.Misplaced })...)
		}
		return def, found
	}
	if read, err := crd.Read(xrd); err == nil && read.Claim == def.GroupKind.Kind {
		def.ForClaims()
	}
	// Crossplane drops unknown keywords, so for a misspelled one the derived CRD is not the intended CRD.
	misspelled := slices.DeleteFunc(keywords(xrd), func(f schema.Fault) bool { return f.Nearest == "" })
	return def, append(def.Check(ctx), misspelled...)
}

// xrdIn returns the XRD in a document, or nil.
func xrdIn(doc manifest.Document) map[string]any {
	if !bytes.Contains(doc.Text, []byte("CompositeResourceDefinition")) {
		return nil // Parsing large CRDs again needs much time.
	}
	if obj, err := doc.Object(); err == nil && crd.IsXRD(obj) {
		return obj
	}
	return nil
}

// ofSource returns the faults of the XRD from which the CRD of d is derived, except the faults that
// open returns. They do not make the CRD invalid. For an XRD in a package, it returns no faults.
// Like open, it does not stop when ctx is done.
func (d *definition) ofSource(ctx context.Context, release schema.Release) []schema.Fault {
	d.onceSourced.Do(func() {
		obj := schema.Copy(d.xrd())
		if obj == nil {
			return
		}
		gvk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
		def := definitionOf(gvk, release)
		d.sourced = misnamed(obj)
		found, err := def.Validate(context.WithoutCancel(ctx), obj, schema.Options{Metadata: true, Reuse: true})
		if err != nil {
			found = []schema.Fault{unserved(gvk, err)}
		}
		d.sourced = append(d.sourced, slices.DeleteFunc(found, func(f schema.Fault) bool { return f.Unchecked })...)
	})
	return d.sourced
}

// definitionOf returns the definition of a kind of Crossplane in a release. If it does not serve the
// version, but the definition in another release does, definitionOf returns the other, because the
// API server accepts the version.
func definitionOf(gvk kschema.GroupVersionKind, release schema.Release) *schema.Definition {
	def := release.Definition(gvk.GroupKind())
	for _, r := range schema.Releases() {
		if def != nil && def.Serves(gvk.Version) == nil {
			break
		}
		if other := r.Definition(gvk.GroupKind()); def == nil || other.Serves(gvk.Version) == nil {
			def = other
		}
	}
	return def
}

// unused calls v.Unused for the invalid definitions in files that are not in told. The Results
// of XRDs go to each instead, unless each is nil, because XRDs are among the validated objects.
func (v *Validator) unused(ctx context.Context, told reported, each func(Result) error) error {
	return proc.StreamOrdered(ctx, runtime.GOMAXPROCS(0), slices.Values(v.inFiles), func(ctx context.Context, _ int, d *definition) []Result {
		var found []Result
		read := d.open
		if !d.opened.Load() {
			read = d.read // It keeps nothing: decoded definitions need much memory.
		}
		_, wrong := read(ctx)
		if len(wrong) > 0 {
			found = append(found, d.result(wrong))
		}
		if wrong := d.ofSource(ctx, v.Crossplane); len(wrong) > 0 {
			found = append(found, d.sourceResult(wrong))
		}
		return found
	}, func(all []Result) error {
		for _, r := range all {
			for _, r := range told.unknown(r) {
				if !r.ofXRD || each == nil {
					v.Unused(r)
				} else if err := each(r); err != nil {
					return err
				}
			}
		}
		return ctx.Err()
	})
}

// nearest returns the kind or the apiVersion that was probably meant if a kind has no schema.
func (v *Validator) nearest(gvk kschema.GroupVersionKind) string {
	var kinds, groups []string
	for gk := range v.definitions {
		if gk.Group == gvk.Group {
			kinds = append(kinds, gk.Kind)
		}
		if gk.Kind == gvk.Kind {
			groups = append(groups, gk.Group)
		}
	}
	slices.Sort(kinds)
	slices.Sort(groups)
	near := cmp.Or(hint.Nearest(gvk.Kind, kinds), schema.SimilarKind(gvk.GroupVersion().String(), gvk.Kind))
	if group := hint.Nearest(gvk.Group, groups); near == "" && group != "" {
		near = group + "/" + gvk.Version
	}
	return cmp.Or(near, schema.Misspelled(gvk.GroupVersion().String(), gvk.Kind))
}

// misspells reports whether gk, which has no definition, is most probably a misspelling of the kind
// near, which an XRD in a file defines. The plural, and a kind that only differs in upper case, cannot
// be another kind of the group.
func (v *Validator) misspells(gk kschema.GroupKind, near string) bool {
	d := v.definitions[kschema.GroupKind{Group: gk.Group, Kind: near}]
	if d == nil {
		return false
	}
	plural := fieldpath.Text(d.Object, "spec", "names", "plural")
	isMeant := strings.EqualFold(gk.Kind, near) || strings.EqualFold(gk.Kind, plural) || hint.Misspelled(gk.Kind, []string{near}) != ""
	return isMeant && d.xrd() != nil
}

// unmatched returns the fault of an object whose kind is a misspelling of near, or the fault of an XRD
// that has the kind in lower case.
func (v *Validator) unmatched(gvk kschema.GroupVersionKind, near string) schema.Fault {
	text := fmt.Sprintf("no matches for kind %q in version %q", gvk.Kind, gvk.GroupVersion())
	d := v.definitions[kschema.GroupKind{Group: gvk.Group, Kind: near}]
	if d != nil && strings.EqualFold(gvk.Kind, near) && unicode.IsLower(rune(near[0])) {
		text += fmt.Sprintf(", because %s: spec.names.kind is %q", d.Source.PositionOf("spec.names.kind"), near)
		near = gvk.Kind
	}
	f := schema.Of(field.Invalid(field.NewPath("kind"), gvk.Kind, text))
	f.Nearest = near
	return f
}

// invalid returns err as a fault of the field whose path consists of first and more.
func invalid(err error, first string, more ...string) []schema.Fault {
	return []schema.Fault{schema.Of(field.Invalid(field.NewPath(first, more...), field.OmitValueType{}, err.Error()))}
}

// result returns a Result that contains found, the faults of the definition itself.
func (d *definition) result(found []schema.Fault) Result {
	u := unstructured.Unstructured{Object: d.Object}
	at := place{doc: manifest.Document{Line: d.Line}}
	if d.Source.Text != nil {
		at = place{doc: d.Source, lines: sync.OnceValue(d.Source.Lines)}
	}
	return Result{
		Path: d.Path, Line: d.Line, APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(),
		Status: Invalid, Faults: faults(at, found), ofXRD: d.xrd() != nil,
	}
}

// sourceResult returns a Result that contains found, the faults of the XRD.
func (d *definition) sourceResult(found []schema.Fault) Result {
	r := d.result(found)
	if xrd := d.xrd(); xrd != nil {
		u := unstructured.Unstructured{Object: xrd}
		r.APIVersion, r.Kind, r.Name = u.GetAPIVersion(), u.GetKind(), u.GetName()
	}
	slices.SortStableFunc(r.Faults, byLine)
	return r
}

// reported has the invalid definitions whose faults were reported, and the keys of these faults.
type reported map[any]bool

// A faultKey identifies a fault of a definition, which may be among the schemas and among the
// resources. An XRD with claims defines two kinds with the same faults.
type faultKey struct {
	path, name, field, text string
	line                    int
}

// with returns r. If the definition of r's kind is invalid and not yet
// reported, with returns the Result of the definition before r.
func (t reported) with(r Result) []Result {
	d := r.definition
	switch {
	case d == nil && strings.HasSuffix(r.Kind, "Definition"):
		return t.unknown(r)
	case d == nil || t[d]:
		return []Result{r}
	}
	t[d] = true
	if r.broken {
		return append(t.unknown(d.result(d.faults)), r)
	}
	return append(t.unknown(d.sourceResult(d.sourced)), r)
}

// all returns what with returns for each of the results.
func (t reported) all(results []Result) (all []Result) {
	for _, r := range results {
		all = append(all, t.with(r)...)
	}
	return all
}

// unknown returns r, the Result of a definition, with the faults that are not yet reported. It
// returns nothing if all faults of r are already reported.
func (t reported) unknown(r Result) []Result {
	invalid := len(r.Faults) > 0
	r.Faults = slices.DeleteFunc(slices.Clone(r.Faults), func(f Fault) bool {
		key := faultKey{filepath.Clean(r.Path), r.Name, f.Field, f.Text, f.Line}
		known := t[key]
		t[key] = true
		return known && r.Path != ""
	})
	if invalid && len(r.Faults) == 0 {
		return nil
	}
	return []Result{r}
}

// definingFaults returns the faults of a CRD, XRD or MRD: the errors that the
// API server finds in its schemas, and unknown keywords in its schemas.
func definingFaults(ctx context.Context, obj map[string]any) []schema.Fault {
	all, err := crd.All(obj)
	if wrong := new(crd.FieldError); errors.As(err, &wrong) {
		return invalid(err, wrong.Field)
	}
	if err != nil {
		return invalid(err, "spec")
	}
	found := misnamed(obj)
	for i, c := range all {
		def, err := schema.New(c)
		if err != nil {
			return invalid(err, "spec", "versions")
		}
		if i == 0 {
			found = append(found, def.Check(ctx)...)
			continue
		}
		// The CRD of the claims differs from the CRD of the XRs in its names only.
		def.ForClaims()
		found = append(found, def.CheckNames()...)
	}
	if obj["kind"] == "CustomResourceDefinition" {
		return found
	}
	return append(found, keywords(obj)...)
}

// keywords returns the faults of the keywords in the schemas of an XRD or MRD. In the Go types
// of XRDs and MRDs, schemas are raw JSON, which Kind.Decode does not check. Check reports
// keywords of a wrong type.
func keywords(obj map[string]any) []schema.Fault {
	var found []schema.Fault
	for i, version := range fieldpath.List(obj, "spec", "versions") {
		at := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		for _, f := range schema.CheckKeywords(at, fieldpath.Map(version, "schema", "openAPIV3Schema")) {
			if f.Unknown {
				found = append(found, f)
			}
		}
	}
	return found
}

// misnamed returns a fault if the CRD, XRD or MRD is not named after its plural and group.
// The API server accepts such an XRD, but refuses the CRD that Crossplane derives from it.
func misnamed(obj map[string]any) []schema.Fault {
	d, err := crd.Read(obj)
	u := unstructured.Unstructured{Object: obj}
	want := d.Plural + "." + d.Group
	if err != nil || d.Plural == "" || u.GetName() == "" || u.GetName() == want {
		return nil
	}
	text := fmt.Sprintf("must be %q: the plural name, a dot and the group", want)
	return []schema.Fault{schema.Of(field.Invalid(field.NewPath("metadata", "name"), u.GetName(), text))}
}
