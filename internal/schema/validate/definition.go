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
	"github.com/xfn-dev/xfn/internal/schema/kinds"
)

// A Definition is a CRD or an XRD's generated CRD, and its source.
type Definition struct {
	Object map[string]any
	// Path is a file or a package. Line is 0 if it is unknown.
	Path string
	Line int
}

// position returns the source of the definition.
func (d Definition) position() string {
	return manifest.Document{Path: d.Path, Line: d.Line}.Position()
}

// A definition is a Definition that is parsed when it is first used.
type definition struct {
	Definition
	cluster bool

	once  sync.Once
	def   *schema.Definition
	wrong []schema.Fault
}

// open returns the parsed definition, or its faults.
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

// unusable returns the fault of an invalid field of a definition.
func unusable(err error, first string, more ...string) []schema.Fault {
	return []schema.Fault{schema.Of(field.Invalid(field.NewPath(first, more...), field.OmitValueType{}, err.Error()))}
}

// result returns the result with the faults of the definition.
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

// A telling has the definitions that were already reported as invalid.
type telling map[*definition]bool

// with returns a result, after that of its definition if it is not reported
// yet.
func (t telling) with(r Result) []Result {
	if r.broken == nil || t[r.broken] {
		return []Result{r}
	}
	t[r.broken] = true
	return []Result{r.broken.result(), r}
}

// defining returns the faults of an object that defines a kind: a schema that
// the API server would reject, or unknown fields in the schema.
func defining(ctx context.Context, obj map[string]any) []schema.Fault {
	all, err := crd.All(obj)
	if err != nil {
		return unusable(err, "spec")
	}
	// The schemas of claims and XRs have the same fields.
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

// misspelt returns the unknown fields in the schemas of an XRD or MRD. Their Go
// types have no fields for schemas.
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

// words returns the unknown fields of a schema and of the schemas below it.
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
	return append(found, kinds.Decode(at, own, reflect.TypeFor[extv1.JSONSchemaProps]())...)
}
