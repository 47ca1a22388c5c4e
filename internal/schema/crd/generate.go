package crd

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// Generate returns the CRDs that Crossplane v2.3 generates from an XRD: one for the
// composite resources, and one for the claims if the XRD defines claims. Their schemas
// are the schemas of the XRD with the fields that Crossplane adds.
func Generate(xrd map[string]any) ([]map[string]any, error) {
	crds, err := Share(xrd)
	for i := range crds {
		crds[i] = runtime.DeepCopyJSON(crds[i])
	}
	return crds, err
}

// Share is like Generate, but the CRDs share values with the XRD, so callers must not change them.
func Share(xrd map[string]any) ([]map[string]any, error) {
	d, err := Read(xrd)
	if err != nil {
		return nil, err
	}
	for i, v := range d.Versions {
		if v.schema == nil {
			schema, text := fieldpath.Map(v.raw, "schema"), "version "+v.Name+" has no schema"
			if schema["properties"] != nil {
				text += ": add openAPIV3Schema, and indent type, properties and the other fields below it"
			}
			return nil, missing(schema, fmt.Sprintf("spec.versions[%d].schema", i), "openAPIV3Schema", "an object", text)
		}
	}
	spec := fieldpath.Map(xrd, "spec")
	switch {
	case d.Plural == "":
		return nil, missing(fieldpath.Map(spec, "names"), "spec.names", "plural", "a string", "the plural of "+d.Kind+" is missing")
	case d.Claim == "":
		return []map[string]any{composites(xrd, d)}, nil
	case d.Claim == d.Kind || d.claimPlural == d.Plural:
		return nil, fmt.Errorf("claims must not have the kind or plural of composite resources, got %s", d.Claim)
	case d.claimPlural == "":
		return nil, missing(fieldpath.Map(spec, "claimNames"), "spec.claimNames", "plural", "a string", "the plural of "+d.Claim+" is missing")
	}
	return []map[string]any{composites(xrd, d), generate(xrd, d, claim(spec))}, nil
}

// Composites returns the CRD that Generate returns for composite resources. Unlike
// Generate, it accepts an XRD without plurals and versions without a schema.
func Composites(xrd map[string]any) (map[string]any, error) {
	d, err := Read(xrd)
	if err != nil {
		return nil, err
	}
	return runtime.DeepCopyJSON(composites(xrd, d)), nil
}

func composites(xrd map[string]any, d Definition) map[string]any {
	return generate(xrd, d, composite(d.Scope, fieldpath.Map(xrd, "spec")))
}

// A resource describes a kind for which Crossplane generates a CRD: composite
// resources or claims.
type resource struct {
	// names is the field in the XRD's spec that contains the names of the kind.
	// category is added to the categories of the kind.
	names, category string
	scope           string
	// spec and status are the fields that Crossplane adds to the fields in the XRD's schema.
	spec, status map[string]any
	// columns are the printer columns that Crossplane adds to the columns in the XRD.
	columns []any
}

func generate(xrd map[string]any, d Definition, r resource) map[string]any {
	spec := fieldpath.Map(xrd, "spec")
	names := maps.Clone(fieldpath.Map(spec, r.names))
	names["categories"] = append(slices.Clone(fieldpath.List(names, "categories")), r.category)
	out := map[string]any{"group": d.Group, "names": names, "scope": r.scope}
	if c := fieldpath.Map(spec, "conversion"); c != nil {
		out["conversion"] = c
	}
	var versions []any
	for _, v := range d.Versions {
		versions = append(versions, version(v, r))
	}
	out["versions"] = versions
	meta := map[string]any{"name": fieldpath.Text(names, "plural") + "." + d.Group}
	put(meta, "labels", merge(fieldpath.Map(xrd, "metadata", "labels"), fieldpath.Map(spec, "metadata", "labels")))
	put(meta, "annotations", fieldpath.Map(spec, "metadata", "annotations"))
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": customResource,
		"metadata": meta, "spec": out,
	}
}

func put(into map[string]any, key string, value map[string]any) {
	if len(value) > 0 {
		into[key] = value
	}
}

func merge(a, b map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// version returns the entry in spec.versions of a generated CRD for the version
// v of an XRD.
func version(v Version, r resource) map[string]any {
	out := map[string]any{
		"name": v.Name, "served": v.Served, "storage": v.Storage,
		"schema":                   map[string]any{"openAPIV3Schema": root(v.schema, r)},
		"additionalPrinterColumns": append(slices.Clone(fieldpath.List(v.raw, "additionalPrinterColumns")), r.columns...),
	}
	subresources := map[string]any{"status": map[string]any{}}
	if scale := fieldpath.Map(v.raw, "subresources", "scale"); scale != nil {
		subresources["scale"] = scale
	}
	out["subresources"] = subresources
	if v.Deprecated {
		out["deprecated"] = true
	}
	if w := fieldpath.Text(v.raw, "deprecationWarning"); w != "" {
		out["deprecationWarning"] = w
	}
	return out
}

// maxName is the maximum length of the names of composite resources and claims:
// Crossplane uses the names as label values.
const maxName = 63

// root returns the schema of the whole object in a generated CRD: Crossplane's
// fields, and the parts of the XRD's schema that Crossplane copies.
func root(schema map[string]any, r resource) map[string]any {
	props := fieldpath.Map(schema, "properties")
	name := map[string]any{"type": "string", "maxLength": int64(maxName)}
	given := fieldpath.Map(props, "metadata", "properties", "name")
	if n, ok := fieldpath.Float(given["maxLength"]); ok && n < maxName {
		name["maxLength"] = given["maxLength"]
	}
	spec, status := fieldpath.Map(props, "spec"), fieldpath.Map(props, "status")
	out := objectOf(nil, map[string]any{
		"apiVersion": str(), "kind": str(),
		"metadata": objectOf(nil, map[string]any{"name": name}),
		"spec":     section(spec, r.spec, "description", "required", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations", "oneOf"),
		"status":   section(status, r.status, "description", "required", "x-kubernetes-validations", "oneOf"),
	}, "spec")
	for _, key := range []string{"description", "x-kubernetes-validations"} {
		if v, ok := schema[key]; ok {
			out[key] = v
		}
	}
	const open = "x-kubernetes-preserve-unknown-fields"
	if _, isBool := schema[open].(bool); schema[open] != nil && !isBool {
		out[open] = schema[open] // Crossplane ignores the keyword, but cannot decode such a value.
	}
	return out
}

// section returns the schema of spec or status in a generated CRD. It has the
// properties of given, the XRD's schema, and of added, which take precedence. keep
// lists the keywords that are copied from given.
func section(given, added map[string]any, keep ...string) map[string]any {
	out := objectOf(nil, merge(fieldpath.Map(given, "properties"), added))
	for _, key := range keep {
		if v, ok := given[key]; ok {
			out[key] = v
		}
	}
	return out
}

// objectOf returns the schema of an object with the properties props. If values
// is not nil, it is the schema of all fields that props does not list.
func objectOf(values, props map[string]any, required ...string) map[string]any {
	out := map[string]any{"type": "object"}
	if values != nil {
		out["additionalProperties"] = values
	}
	if props != nil {
		out["properties"] = props
	}
	if len(required) > 0 {
		list := make([]any, len(required))
		for i, name := range required {
			list[i] = name
		}
		out["required"] = list
	}
	return out
}

func str(enum ...any) map[string]any {
	out := map[string]any{"type": "string"}
	if len(enum) > 0 {
		out["enum"] = enum
	}
	return out
}

func stringFields(names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		out[name] = str()
	}
	return out
}

func withDefault(schema map[string]any, value string) map[string]any {
	if value != "" {
		schema["default"] = value
	}
	return schema
}

// All returns the CRDs that an API server would have for obj, without status: a
// CRD itself, the results of Generate for an XRD, or the CRD that Crossplane
// generates from an active MRD.
func All(obj map[string]any) ([]map[string]any, error) {
	d, err := Read(obj)
	if err != nil {
		return nil, err
	}
	if IsXRD(obj) {
		return Generate(obj)
	}
	out := runtime.DeepCopyJSON(obj)
	delete(out, "status")
	if fieldpath.Text(obj, "kind") == managedResource {
		out["apiVersion"], out["kind"] = "apiextensions.k8s.io/v1", customResource
		spec := fieldpath.Map(out, "spec")
		delete(spec, "state")
		delete(spec, "connectionDetails")
		out["metadata"] = map[string]any{"name": d.Plural + "." + d.Group}
	}
	return []map[string]any{out}, nil
}

// WithSecretStores returns a generated CRD as Crossplane v1 generated it: with the field
// spec.publishConnectionDetailsTo, which selects an external secret store. Other CRDs, and CRDs
// of composite resources that Crossplane v1 did not have, are returned unchanged.
func WithSecretStores(crd map[string]any) map[string]any {
	if crd["kind"] != customResource {
		return crd
	}
	const publishTo = "publishConnectionDetailsTo"
	out := runtime.DeepCopyJSON(crd)
	for _, v := range fieldpath.List(out, "spec", "versions") {
		props := fieldpath.Map(v, "schema", "openAPIV3Schema", "properties", "spec", "properties")
		_, selects := props["compositionRef"]
		_, writes := props["writeConnectionSecretToRef"]
		if _, given := props[publishTo]; selects && writes && !given {
			config := objectOf(nil, stringFields("name"))
			config["default"] = map[string]any{"name": "default"}
			metadata := objectOf(nil, map[string]any{"labels": objectOf(str(), nil), "annotations": objectOf(str(), nil), "type": str()})
			props[publishTo] = objectOf(nil, map[string]any{"name": str(), "configRef": config, "metadata": metadata}, "name")
		}
	}
	return out
}

// composite returns what Crossplane adds to the CRD of composite resources. Crossplane's
// fields are below spec.crossplane, or directly below spec for scope LegacyCluster.
func composite(scope string, xrdSpec map[string]any) resource {
	legacy := scope == legacyCluster
	r := resource{names: "names", category: "composite", scope: cluster, status: status(legacy)}
	if scope == namespaced {
		r.scope = namespaced
	}
	props := selection(fieldpath.Text(xrdSpec, "defaultCompositionUpdatePolicy"))
	refs := stringFields("apiVersion", "kind", "name")
	if scope != namespaced {
		refs["namespace"] = str()
	}
	props["resourceRefs"] = map[string]any{
		"type": "array", "items": objectOf(nil, refs, "apiVersion", "kind"),
		"x-kubernetes-list-type": "atomic",
	}
	r.spec = map[string]any{"crossplane": objectOf(nil, props)}
	if legacy {
		r.spec = props
		props["claimRef"] = objectOf(nil, stringFields("apiVersion", "kind", "namespace", "name"), "apiVersion", "kind", "namespace", "name")
		props["writeConnectionSecretToRef"] = objectOf(nil, stringFields("name", "namespace"), "name", "namespace")
	}
	at := ".spec.crossplane."
	if legacy {
		at = ".spec."
	}
	r.columns = []any{
		column("SYNCED", ".status.conditions[?(@.type=='Synced')].status"),
		column("READY", ".status.conditions[?(@.type=='Ready')].status"),
		column("COMPOSITION", at+"compositionRef.name"),
		map[string]any{"name": "COMPOSITIONREVISION", "type": "string", "jsonPath": at + "compositionRevisionRef.name", "priority": int64(1)},
		ageColumn(),
	}
	return r
}

// claim returns what Crossplane adds to the CRD of an XRD's claims.
func claim(xrdSpec map[string]any) resource {
	props := selection("")
	props["compositeDeletePolicy"] = withDefault(str("Background", "Foreground"), fieldpath.Text(xrdSpec, "defaultCompositeDeletePolicy"))
	props["resourceRef"] = objectOf(nil, stringFields("apiVersion", "kind", "name"), "apiVersion", "kind", "name")
	props["writeConnectionSecretToRef"] = objectOf(nil, stringFields("name"), "name")
	return resource{
		names: "claimNames", category: "claim", scope: namespaced, status: status(true), spec: props,
		columns: []any{
			column("SYNCED", ".status.conditions[?(@.type=='Synced')].status"),
			column("READY", ".status.conditions[?(@.type=='Ready')].status"),
			column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name"),
			ageColumn(),
		},
	}
}

// selection returns the schemas of the fields in spec that select a
// Composition. updatePolicy is the default of compositionUpdatePolicy, or "".
func selection(updatePolicy string) map[string]any {
	ref := func() map[string]any { return objectOf(nil, stringFields("name"), "name") }
	selector := func() map[string]any {
		return objectOf(nil, map[string]any{"matchLabels": objectOf(str(), nil)}, "matchLabels")
	}
	return map[string]any{
		"compositionRef": ref(), "compositionRevisionRef": ref(),
		"compositionSelector": selector(), "compositionRevisionSelector": selector(),
		"compositionUpdatePolicy": withDefault(str("Automatic", "Manual"), updatePolicy),
	}
}

// status returns the schemas of the fields in status that Crossplane sets.
// legacy is true for claims and for XRs of scope LegacyCluster.
func status(legacy bool) map[string]any {
	moment := func() map[string]any { return map[string]any{"type": "string", "format": "date-time"} }
	condition := stringFields("message", "reason", "status", "type")
	condition["lastTransitionTime"] = moment()
	condition["observedGeneration"] = map[string]any{"type": "integer", "format": "int64"}
	props := map[string]any{"conditions": map[string]any{
		"type":                       "array",
		"items":                      objectOf(nil, condition, "lastTransitionTime", "reason", "status", "type"),
		"x-kubernetes-list-type":     "map",
		"x-kubernetes-list-map-keys": []any{"type"},
	}}
	if legacy {
		props["connectionDetails"] = objectOf(nil, map[string]any{"lastPublishedTime": moment()})
		props["claimConditionTypes"] = map[string]any{"type": "array", "items": str(), "x-kubernetes-list-type": "set"}
	}
	return props
}

func column(name, path string) map[string]any {
	return map[string]any{"name": name, "type": "string", "jsonPath": path}
}

func ageColumn() map[string]any {
	return map[string]any{"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
}
