package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/schema"
)

// crossplaneFields are fields of an XR's spec that an XRD does not define, because Crossplane
// does.
var crossplaneFields = strings.Fields("crossplane claimRef compositionRef compositionRevisionRef compositionRevisionSelector compositionSelector compositionUpdatePolicy environmentConfigRefs publishConnectionDetailsTo resourceRefs writeConnectionSecretToRef")

// XRD writes an XRD for an example of an XR, whose values show the types of its fields, or for
// an XR in SimpleSchema. It returns the path of the file. Unless o.Replace is set, it is an
// error if the project already defines the kind.
func XRD(ctx context.Context, p *project.Project, file string, o XRDOptions) (string, error) {
	file = locate(p, file)
	obj, doc, err := manifest.Reader{FS: afero.NewOsFs(), Stdin: o.Stdin}.FirstObject(ctx, file)
	if err == nil {
		_, err = doc.StrictJSON()
	}
	if err != nil {
		return "", err
	}
	x, err := xrdOf(obj, o)
	if err == nil && o.SimpleSchema {
		err = checked(ctx, x)
	}
	if err != nil {
		line := doc.FirstLine()
		if field := (*fieldError)(nil); errors.As(err, &field) {
			line = doc.Lines().Of(field.field)
		}
		return "", &manifest.Error{Path: file, Line: line, Err: err}
	}
	path, err := definitionFile(p, x, o)
	if err != nil {
		return "", err
	}
	return path, writeObject(path, 0o644, x.object())
}

// XRDOptions are the options of XRD.
type XRDOptions struct {
	// Stdin is the content of the file "-".
	Stdin io.Reader
	// Plural and Path have the meaning of the fields of APIOptions.
	Plural, Path string
	// SimpleSchema says that the fields of the XR have types instead of values.
	SimpleSchema bool
	// Replace replaces the file of an existing XRD.
	Replace bool
}

// definitionFile returns the path of the file for an XRD: the file of the existing XRD for the
// same kind if that XRD is replaced, otherwise a new file.
func definitionFile(p *project.Project, x xrd, o XRDOptions) (string, error) {
	standard := x.plural + "/definition.yaml"
	existing, err := p.Definition(x.version.Group, x.kind)
	if err != nil {
		return "", err
	}
	if existing.Text == nil {
		path, err := newFile(p, o.Path, standard)
		if err != nil && o.Replace && o.Path != "" && fileExists(path) {
			return path, nil
		}
		return path, err
	}
	data, err := os.ReadFile(existing.Path)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", existing.Path, fsx.Cause(err))
	}
	docs, err := manifest.Split(existing.Path, data)
	defined := fmt.Errorf("%s already defines kind %s of %s", existing.Position(), x.kind, x.version.Group)
	switch wanted := p.Dir(path.Join(p.Paths.APIs, o.Path)); {
	case err != nil:
		return "", err
	case !o.Replace:
		return "", hint.Wrap(defined, "replace the file with "+hint.Replace+", or remove it")
	case len(docs) > 1:
		return "", fmt.Errorf("%q has other objects than the XRD of kind %s, and is not replaced", existing.Path, x.kind)
	case o.Path != "" && wanted != existing.Path:
		return "", hint.Wrap(defined, "leave out the path of the new file, or remove the existing one")
	}
	return existing.Path, nil
}

type xrd struct {
	version             kschema.GroupVersion
	kind, plural, scope string
	spec, status        map[string]any
	columns             []any
}

func xrdOf(obj map[string]any, o XRDOptions) (x xrd, err error) {
	u := unstructured.Unstructured{Object: obj}
	x = xrd{kind: u.GetKind(), plural: strings.ToLower(o.Plural), scope: "Cluster"}
	x.version, err = kschema.ParseGroupVersion(u.GetAPIVersion())
	if schema.HasNoXRs(x.version) {
		return x, hint.Wrap(fmt.Errorf("expected a composite resource, got kind %s of %s", x.kind, x.version), "name the file of an example of the new XR")
	}
	spec, _ := obj["spec"].(map[string]any)
	if !o.SimpleSchema && isSimpleSchema(spec) {
		err := &fieldError{"spec", errors.New("the values of spec are types in SimpleSchema, expected an example with values")}
		return x, hint.Wrap(err, "read them with "+hint.From+" simpleschema")
	}
	if err := checkXR(u, !o.SimpleSchema); err != nil {
		return x, err
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if !o.SimpleSchema && !slices.Contains(xrFields, key) {
			return x, &fieldError{key, fmt.Errorf("%s: Crossplane keeps only spec and status of a composite resource: move the field into spec", key)}
		}
	}
	if err != nil || x.version.Group == "" || x.version.Version == "" {
		return x, &fieldError{"apiVersion", fmt.Errorf("apiVersion: expected a group and a version, such as example.org/v1, got %q", u.GetAPIVersion())}
	}
	if len(validation.IsDNS1035Label(x.version.Version)) > 0 {
		return x, &fieldError{"apiVersion", fmt.Errorf("apiVersion: %q is not a version, expected one such as v1 or v1alpha1", x.version.Version)}
	}
	x.plural = cmp.Or(x.plural, pluralOf(x.kind))
	status, _ := obj["status"].(map[string]any)
	if o.SimpleSchema {
		x.scope = "Namespaced"
		x.columns, _, _ = unstructured.NestedSlice(obj, "additionalPrinterColumns")
		types, _ := obj["customTypes"].(map[string]any)
		c := converter{types: types}
		if x.spec, err = c.object(spec, "spec"); err == nil {
			c.results = true
			x.status, err = c.object(status, "status")
		}
		if err == nil {
			err = checkTypes(types)
		}
		x.columns = append(x.columns, c.columns...)
		return x, err
	}
	if u.GetNamespace() != "" {
		x.scope = "Namespaced"
	}
	for _, field := range crossplaneFields {
		delete(spec, field)
	}
	delete(status, "conditions")
	x.spec = described(inferred(spec), x.kind+"Spec defines the desired state of "+x.kind+".")
	x.status = described(inferred(status), x.kind+"Status defines the observed state of "+x.kind+".")
	return x, nil
}

// checkXR returns a fieldError for the first field that an XR lacks, or that has a wrong value. Only
// an XR that is named must have a name.
func checkXR(u unstructured.Unstructured, named bool) error {
	_, hasSpec := u.Object["spec"].(map[string]any)
	for _, f := range []struct {
		name, expected string
		ok             bool
	}{
		{"apiVersion", "a string such as example.org/v1", u.GetAPIVersion() != ""},
		{"kind", "a string", u.GetKind() != ""},
		{"metadata.name", "a string", !named || u.GetName() != ""},
		{"spec", "an object", hasSpec},
	} {
		value, exists, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(f.name, ".")...)
		top, _, _ := strings.Cut(f.name, ".")
		switch near := hint.Nearest(top, slices.Sorted(maps.Keys(u.Object))); {
		case f.ok:
		case exists:
			return &fieldError{f.name, fmt.Errorf("%s: expected %s, got %s", f.name, f.expected, manifest.DescribeValue(value))}
		case near != "" && near != top:
			return &fieldError{near, fmt.Errorf("%s: there is no such field in an XR: is it %s?", near, top)}
		default:
			return &fieldError{top, fmt.Errorf("%s is missing: expected an XR with an apiVersion such as example.org/v1, a kind, a name and a spec", f.name)}
		}
	}
	return nil
}

// xrFields are the fields that the example of an XR may have. As in the crossplane CLI, printer
// columns are allowed, but used only with SimpleSchema.
var xrFields = []string{"apiVersion", "kind", "metadata", "spec", "status", "additionalPrinterColumns"}

func (x xrd) object() map[string]any {
	version := map[string]any{
		"name": x.version.Version, "served": true, "referenceable": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "description": x.kind + " is the Schema for the " + x.kind + " API.", "required": []any{"spec"},
			"properties": map[string]any{"spec": x.spec, "status": x.status},
		}},
	}
	if len(x.columns) > 0 {
		version["additionalPrinterColumns"] = x.columns
	}
	return map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
		"metadata": map[string]any{"name": x.plural + "." + x.version.Group},
		"spec": map[string]any{
			"group": x.version.Group, "scope": x.scope,
			"names":    map[string]any{"kind": x.kind, "plural": x.plural, "categories": []any{"crossplane"}},
			"versions": []any{version},
		},
	}
}

func described(schema map[string]any, text string) map[string]any {
	schema["description"] = text
	return schema
}

// objectOf returns the schema of an object. As in the files of the crossplane CLI, an object without
// properties has no field for them.
func objectOf(properties map[string]any) map[string]any {
	if len(properties) == 0 {
		return map[string]any{"type": "object"}
	}
	return map[string]any{"type": "object", "properties": properties}
}

// inferred returns the schema of a value. A value whose type is not known, such as a null or
// an item of a list with several types, may have any type.
func inferred(value any) map[string]any {
	unknown := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	switch v := value.(type) {
	case string:
		return map[string]any{"type": "string"}
	case bool:
		return map[string]any{"type": "boolean"}
	case int64:
		return map[string]any{"type": "integer"}
	case float64:
		return map[string]any{"type": "number"}
	case map[string]any:
		properties := map[string]any{}
		for key, value := range v {
			properties[key] = inferred(value)
		}
		return objectOf(properties)
	case []any:
		items := unknown
		for i, item := range v {
			if s := inferred(item); i == 0 {
				items = s
			} else {
				items = merged(items, s)
			}
		}
		return map[string]any{"type": "array", "items": items}
	}
	return unknown
}

// merged returns a schema for the values of two inferred schemas.
func merged(a, b map[string]any) map[string]any {
	if a["type"] != b["type"] {
		if a["type"] == "number" && b["type"] == "integer" || a["type"] == "integer" && b["type"] == "number" {
			return map[string]any{"type": "number"}
		}
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	}
	switch a["type"] {
	case "object":
		into, _ := a["properties"].(map[string]any)
		from, _ := b["properties"].(map[string]any)
		all := map[string]any{}
		maps.Copy(all, into)
		for key, value := range from {
			schema, _ := value.(map[string]any)
			if old, ok := into[key].(map[string]any); ok {
				schema = merged(old, schema)
			}
			all[key] = schema
		}
		return objectOf(all)
	case "array":
		old, _ := a["items"].(map[string]any)
		other, _ := b["items"].(map[string]any)
		a["items"] = merged(old, other)
	}
	return a
}
