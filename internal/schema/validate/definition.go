package validate

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/manifest"
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
}

// A definition is a Definition that is decoded at its first use.
type definition struct {
	Definition
	cluster bool

	once   sync.Once
	def    *schema.Definition
	faults []schema.Fault
}

// open decodes and checks the CRD at the first call. It returns the decoded
// definition, or the faults of the CRD.
func (d *definition) open(ctx context.Context) (*schema.Definition, []schema.Fault) {
	d.once.Do(func() {
		var err error
		if d.def, err = schema.New(d.Object); err != nil {
			d.faults = invalid(err, "spec", "versions")
			return
		}
		d.faults = d.def.Check(ctx)
	})
	return d.def, d.faults
}

// invalid returns err as a fault of the field whose path consists of first and more.
func invalid(err error, first string, more ...string) []schema.Fault {
	return []schema.Fault{schema.Of(field.Invalid(field.NewPath(first, more...), field.OmitValueType{}, err.Error()))}
}

// result returns a Result that contains the faults of the definition itself.
func (d *definition) result() Result {
	u := unstructured.Unstructured{Object: d.Object}
	return Result{
		Path: d.Path, Line: d.Line, APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(),
		Status: Invalid, Faults: faults(place{doc: manifest.Document{Line: d.Line}}, d.faults),
	}
}

// reported has the invalid definitions whose faults were reported.
type reported map[*definition]bool

// with returns r. If the definition of r's kind is invalid and not yet
// reported, with returns the Result of the definition before r.
func (t reported) with(r Result) []Result {
	if r.broken == nil || t[r.broken] {
		return []Result{r}
	}
	t[r.broken] = true
	return []Result{r.broken.result(), r}
}

// definingFaults returns the faults of a CRD, XRD or MRD: the errors that the
// API server finds in its schemas, and unknown keywords in its schemas.
func definingFaults(ctx context.Context, obj map[string]any) []schema.Fault {
	all, err := crd.All(obj)
	if err != nil {
		return invalid(err, "spec")
	}
	// all[0] is the CRD of the XRs. The CRD of the claims has the same schema, so
	// it is not checked.
	def, err := schema.New(all[0])
	if err != nil {
		return invalid(err, "spec", "versions")
	}
	found := append(misnamed(obj), def.Check(ctx)...)
	if obj["kind"] == "CustomResourceDefinition" {
		return found
	}
	// In the Go types of XRDs and MRDs, schemas are raw JSON, which Kind.Decode
	// does not check.
	versions, _, _ := unstructured.NestedSlice(obj, "spec", "versions")
	for i, v := range versions {
		version, _ := v.(map[string]any)
		s, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		found = append(found, unknownKeywords(field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"), s)...)
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

// unknownKeywords returns the errors of strictly decoding the schema s and all
// schemas in it, such as unknown keywords.
func unknownKeywords(at *field.Path, s map[string]any) []schema.Fault {
	own := maps.Clone(s)
	var found []schema.Fault
	below := func(at *field.Path, v any) {
		if sub, ok := v.(map[string]any); ok {
			found = append(found, unknownKeywords(at, sub)...)
		}
	}
	for _, key := range []string{"additionalProperties", "items", "not"} {
		if sub, ok := s[key].(map[string]any); ok {
			below(at.Child(key), sub)
			delete(own, key)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if all, ok := s[key].([]any); ok {
			for i, sub := range all {
				below(at.Child(key).Index(i), sub)
			}
			delete(own, key)
		}
	}
	if all, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			below(at.Child("properties").Key(name), all[name])
		}
		delete(own, "properties")
	}
	return append(found, schema.DecodeKind(at, own, reflect.TypeFor[extv1.JSONSchemaProps]())...)
}
