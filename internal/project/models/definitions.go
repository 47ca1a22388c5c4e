package models

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// Definitions maps the OpenAPI names of types to their schemas. The name of a custom resource
// is its group in reverse order, its version and its kind: org.example.v1.App.
type Definitions map[string]*Schema

const (
	meta       = "io.k8s.apimachinery.pkg.apis.meta.v1."
	objectMeta = meta + "ObjectMeta"
	listMeta   = meta + "ListMeta"
	docsURL    = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
)

// metaJSON has the definitions of Kubernetes v1.35 that an API server publishes with each CRD.
//
//go:embed meta.json
var metaJSON []byte

var metaDefinitions = sync.OnceValue(func() Definitions {
	var d Definitions
	if err := json.Unmarshal(metaJSON, &d); err != nil {
		// meta.json is embedded, and tests decode it.
		panic(err)
	}
	return d
})

// Define returns the definitions of the kinds that objects define. It ignores objects that
// are neither CRDs nor XRDs. It returns no definitions if there are no kinds.
func Define(objects []map[string]any) (Definitions, error) {
	all := Definitions{}
	for _, obj := range objects {
		if !crd.Defines(obj) || obj["kind"] == "ManagedResourceDefinition" {
			continue
		}
		if err := all.add(obj); err != nil {
			name, _, _ := unstructured.NestedString(obj, "metadata", "name")
			return nil, fmt.Errorf("reading the schemas of %v %q: %w", obj["kind"], name, err)
		}
	}
	if len(all) > 0 {
		maps.Copy(all, metaDefinitions())
	}
	return all, nil
}

// OpenAPI adds the definitions in an OpenAPI v3 document of Kubernetes.
func (d Definitions) OpenAPI(document []byte) error {
	var doc struct {
		Components struct{ Schemas Definitions }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return fmt.Errorf("expected an OpenAPI v3 document: %w", err)
	}
	for name, s := range doc.Components.Schemas {
		if len(s.Kinds) == 1 && s.Type == "object" {
			s.setKind(s.Kinds[0])
		}
		d[name] = s
	}
	return nil
}

func (d Definitions) add(obj map[string]any) error {
	crds, err := crd.All(obj)
	if err != nil {
		return err
	}
	for _, c := range crds {
		var spec struct {
			Spec struct {
				Group    string
				Names    struct{ Kind, ListKind, Plural string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema *Schema }
				}
			}
		}
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &spec); err != nil {
			return fmt.Errorf("expected an OpenAPI v3 schema: %w", err)
		}
		if spec.Spec.Group == "" || spec.Spec.Names.Kind == "" {
			return errors.New("spec.group and spec.names.kind must not be empty")
		}
		listKind := cmp.Or(spec.Spec.Names.ListKind, spec.Spec.Names.Kind+"List")
		for _, v := range spec.Spec.Versions {
			gvk := groupVersionKind{spec.Spec.Group, v.Name, spec.Spec.Names.Kind}
			root := v.Schema.OpenAPIV3Schema
			if root == nil {
				root = &Schema{Type: "object", Open: true}
			}
			if crd.IsXRD(obj) {
				describe(root)
			}
			root.embed()
			root.native(gvk)
			d[gvk.name()] = root
			lists := groupVersionKind{gvk.Group, gvk.Version, listKind}
			d[lists.name()] = list(gvk, lists, spec.Spec.Names.Plural)
		}
	}
	return nil
}

func (k groupVersionKind) name() string {
	group := strings.Split(k.Group, ".")
	slices.Reverse(group)
	return strings.Join(append(group, k.Version, k.Kind), ".")
}

func (k groupVersionKind) apiVersion() string {
	return strings.TrimPrefix(k.Group+"/"+k.Version, "/")
}

// describe sets the descriptions of the fields that Crossplane adds to an XRD's schema.
func describe(root *Schema) {
	for path, text := range map[[2]string]string{
		{"spec", "crossplane"}:   "Configures how Crossplane will reconcile this composite resource",
		{"status", "conditions"}: "Conditions of the resource.",
	} {
		if in := root.Properties[path[0]]; in != nil && in.Properties[path[1]] != nil && in.Properties[path[1]].Description == "" {
			in.Properties[path[1]].Description = text
		}
	}
}

// native adds the fields that all objects of Kubernetes have, as an API server does.
func (s *Schema) native(gvk groupVersionKind) {
	s.typeMeta(
		"APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: "+docsURL+"#resources",
		"Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "+docsURL+"#types-kinds")
	s.Properties["metadata"] = reference(objectMeta, "Standard object's metadata. More info: "+docsURL+"#metadata")
	s.Kinds = []groupVersionKind{gvk}
	s.setKind(gvk)
}

func (s *Schema) typeMeta(apiVersion, kind string) {
	if s.Properties == nil {
		s.Properties = map[string]*Schema{}
	}
	s.Properties["apiVersion"] = &Schema{Type: "string", Description: apiVersion}
	s.Properties["kind"] = &Schema{Type: "string", Description: kind}
}

// setKind limits the fields apiVersion and kind to the values of a kind.
func (s *Schema) setKind(gvk groupVersionKind) {
	for name, value := range map[string]string{"apiVersion": gvk.apiVersion(), "kind": gvk.Kind} {
		if p := s.Properties[name]; p != nil {
			p.Enum, p.Default = []any{value}, value
		}
	}
}

// embed adds the native fields to each embedded resource in s, as an API server does. As in the
// crossplane CLI, an embedded resource of any kind is a map.
func (s *Schema) embed() {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*Schema{s.Not, s.Items, s.AdditionalProperties}, slices.Collect(maps.Values(s.Properties)))
	for _, child := range all {
		if child != nil {
			child.embed()
		}
	}
	switch {
	case !s.Embedded:
		return
	case s.Open:
		s.Embedded, s.Open, s.Type, s.AdditionalProperties = false, false, "object", &Schema{boolean: "true"}
		return
	}
	s.typeMeta("apiVersion defines the versioned schema of this representation of an object. More info: "+docsURL+"#resources",
		"kind is a string value representing the type of this object. In CamelCase. More info: "+docsURL+"#types-kinds")
	s.Properties["metadata"] = reference(objectMeta, "Standard object's metadata. More info: "+docsURL+"#metadata")
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

func list(of, lists groupVersionKind, plural string) *Schema {
	s := &Schema{Type: "object", Description: lists.Kind + " is a list of " + of.Kind, Required: []string{"items"}}
	s.native(lists)
	for _, name := range []string{"apiVersion", "kind"} {
		s.Properties[name].Enum, s.Properties[name].Default = nil, nil
	}
	s.Properties["metadata"] = reference(listMeta, "Standard list metadata. More info: "+docsURL+"#types-kinds")
	s.Properties["items"] = &Schema{
		Type: "array", Items: &Schema{Ref: refPrefix + of.name()},
		Description: "List of " + plural + ". More info: " + docsURL,
	}
	return s
}
