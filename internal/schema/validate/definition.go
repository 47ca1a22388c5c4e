package validate

import (
	"context"
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

// A Definition is a CRD, or one that Crossplane makes, and where it comes from.
type Definition struct {
	Object map[string]any
	// Path is a file or a package, and Line is 0 if it has none.
	Path string
	Line int
}

// position is where it comes from.
func (d Definition) position() string {
	return manifest.Document{Path: d.Path, Line: d.Line}.Position()
}

// A definition is one that is opened when it is needed.
type definition struct {
	Definition
	cluster bool

	once  sync.Once
	def   *schema.Definition
	wrong []schema.Fault
}

// open returns what the definition says, or what is wrong with it.
func (d *definition) open(ctx context.Context) (*schema.Definition, []schema.Fault) {
	d.once.Do(func() {
		var err error
		if d.def, err = schema.New(d.Object); err != nil {
			d.wrong = unusable(err, "spec", "versions")
			return
		}
		d.wrong = d.def.Check(ctx)
	})
	return d.def, d.wrong
}

// unusable is the fault of a field by which nothing can be defined.
func unusable(err error, first string, more ...string) []schema.Fault {
	return []schema.Fault{schema.Of(field.Invalid(field.NewPath(first, more...), field.OmitValueType{}, err.Error()))}
}

// result says what is wrong with the definition.
func (d *definition) result() Result {
	u := unstructured.Unstructured{Object: d.Object}
	r := Result{
		Path: d.Path, Line: d.Line, APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(),
		Status: Invalid, Faults: faults(place{}, d.wrong),
	}
	for i := range r.Faults {
		r.Faults[i].Line = d.Line
	}
	return r
}

// A telling knows of which definitions was said that they cannot be used.
type telling map[*definition]bool

// with returns a result, after what is wrong with its definition if that is still
// to be said.
func (t telling) with(r Result) []Result {
	if r.broken == nil || t[r.broken] {
		return []Result{r}
	}
	t[r.broken] = true
	return []Result{r.broken.result(), r}
}

// defining returns what is wrong with an object that defines a kind: a schema that
// the API server would refuse, or words in it that mean nothing.
func defining(ctx context.Context, obj map[string]any) []schema.Fault {
	all, err := crd.All(obj)
	if err != nil {
		return unusable(err, "spec")
	}
	// What an XRD's claims have is what its XRs have.
	def, err := schema.New(all[0])
	if err != nil {
		return unusable(err, "spec", "versions")
	}
	found := def.Check(ctx)
	if obj["kind"] != "CustomResourceDefinition" {
		found = append(found, misspelt(obj)...)
	}
	return found
}

// misspelt returns what the schemas of an XRD or MRD have that means nothing in
// one. Their types do not look into them.
func misspelt(obj map[string]any) []schema.Fault {
	versions, _, _ := unstructured.NestedSlice(obj, "spec", "versions")
	var found []schema.Fault
	for i, v := range versions {
		version, _ := v.(map[string]any)
		s, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		found = append(found, words(field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"), s)...)
	}
	return found
}

// words returns what means nothing in a schema and those below.
func words(at *field.Path, s map[string]any) []schema.Fault {
	own := maps.Clone(s)
	var found []schema.Fault
	for _, key := range []string{"additionalProperties", "items", "not"} {
		if below, ok := s[key].(map[string]any); ok {
			found = append(found, words(at.Child(key), below)...)
			delete(own, key)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		all, _ := s[key].([]any)
		for i, below := range all {
			if below, ok := below.(map[string]any); ok {
				found = append(found, words(at.Child(key).Index(i), below)...)
			}
		}
		if all != nil {
			delete(own, key)
		}
	}
	if all, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if below, ok := all[name].(map[string]any); ok {
				found = append(found, words(at.Child("properties").Key(name), below)...)
			}
		}
		delete(own, "properties")
	}
	return append(found, schema.DecodeKind(at, own, reflect.TypeFor[extv1.JSONSchemaProps]())...)
}
