package crd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// The kinds of objects that define other kinds.
const (
	customResource    = "CustomResourceDefinition"
	compositeResource = "CompositeResourceDefinition"
	managedResource   = "ManagedResourceDefinition"
)

// A Definition is the content of a CRD, XRD or MRD.
type Definition struct {
	// Group, Kind and Plural identify the defined kind. Scope is
	// Namespaced, Cluster or LegacyCluster.
	Group  string `json:"group"`
	Kind   string `json:"kind"`
	Plural string `json:"plural"`
	Scope  string `json:"scope"`
	// Claim is the kind of the claims that an XRD defines, or empty.
	Claim string `json:"claim,omitempty"`
	// Versions has the versions in the order of the CRD, XRD or MRD.
	Versions []Version `json:"versions"`

	claimPlural string
}

// A Version is one API version of the kind that a Definition defines.
type Version struct {
	Name string `json:"name"`
	// Storage is true for the storage version of a CRD, and for the referenceable
	// version of an XRD.
	Served     bool `json:"served"`
	Storage    bool `json:"storage"`
	Deprecated bool `json:"deprecated,omitempty"`

	schema, raw map[string]any
}

// Defines reports whether obj is a CRD, XRD or MRD, whatever its API version.
func Defines(obj map[string]any) bool {
	group, _, _ := strings.Cut(fieldpath.Text(obj, "apiVersion"), "/")
	switch fieldpath.Text(obj, "kind") {
	case customResource:
		return group == "apiextensions.k8s.io"
	case compositeResource, managedResource:
		return group == "apiextensions.crossplane.io"
	default:
		return false
	}
}

// IsXRD reports whether obj is a CompositeResourceDefinition.
func IsXRD(obj map[string]any) bool {
	return Defines(obj) && fieldpath.Text(obj, "kind") == compositeResource
}

// Read returns the definition in a CRD, XRD or MRD. It returns an error if the
// group, the kind or all versions are missing. It does not check the schemas.
func Read(obj map[string]any) (Definition, error) {
	if !Defines(obj) {
		return Definition{}, fmt.Errorf("expected a CRD, XRD or MRD, got %s", fieldpath.Text(obj, "kind"))
	}
	if err := cmp.Or(notObject(obj, "", "spec"), notObject(fieldpath.Map(obj, "spec"), "spec.", "names")); err != nil {
		return Definition{}, err
	}
	spec := fieldpath.Map(obj, "spec")
	names, claims := fieldpath.Map(spec, "names"), fieldpath.Map(spec, "claimNames")
	d := Definition{
		Group: fieldpath.Text(spec, "group"), Kind: fieldpath.Text(names, "kind"), Plural: fieldpath.Text(names, "plural"),
		Scope: scopeOf(obj, spec), Versions: versionsOf(spec),
		Claim: fieldpath.Text(claims, "kind"), claimPlural: fieldpath.Text(claims, "plural"),
	}
	switch {
	case d.Group == "":
		return d, missing(spec, "spec", "group", "a string", "")
	case d.Kind == "":
		return d, missing(names, "spec.names", "kind", "a string", "")
	case len(d.Versions) == 0:
		return d, missing(spec, "spec", "versions", "a list", "")
	}
	return d, nil
}

// A FieldError is an error about a field of a CRD, XRD or MRD. If the field is missing, Field is
// a misspelled field, or the object that lacks the field.
type FieldError struct{ Field, Text string }

func (e *FieldError) Error() string { return e.Text }

// notObject returns an error if in has a value for the field, whose path begins with at, that is
// not an object.
func notObject(in map[string]any, at, field string) error {
	if _, ok := in[field].(map[string]any); ok || in[field] == nil {
		return nil
	}
	return &FieldError{Field: at + field, Text: at + field + " must be an object"}
}

// missing returns the error for an object at a path that lacks a field with a value such as "a list".
// The default of text is that the field is missing.
func missing(in map[string]any, at, field, want, text string) error {
	err := &FieldError{Field: at, Text: cmp.Or(text, at+"."+field+" is missing")}
	switch near := hint.Nearest(field, slices.Sorted(maps.Keys(in))); near {
	case "":
	case field:
		err.Field += "." + near
		err.Text = err.Field + " is empty"
		if got := manifest.DescribeValue(in[field]); got != want && in[field] != nil {
			err.Text = fmt.Sprintf("%s must be %s, not %s", err.Field, want, got)
		}
	default:
		err.Field += "." + near
		err.Text += ": did you mean " + field + " in place of " + near + "?"
	}
	return err
}

// scopeOf returns the scope of a definition. If an XRD sets none, the scope is
// LegacyCluster for API version v1, and Namespaced for v2.
func scopeOf(obj, spec map[string]any) string {
	if scope := fieldpath.Text(spec, "scope"); scope != "" || !IsXRD(obj) {
		return scope
	}
	if strings.HasSuffix(fieldpath.Text(obj, "apiVersion"), "/v1") {
		return legacyCluster
	}
	return namespaced
}

// CheckScope returns an error if obj is an XRD with a scope that Crossplane does not know. The
// error is about the field spec.scope.
func CheckScope(obj map[string]any) error {
	scope := fieldpath.Text(obj, "spec", "scope")
	scopes := []string{namespaced, cluster, legacyCluster}
	if !IsXRD(obj) || scope == "" || slices.Contains(scopes, scope) {
		return nil
	}
	text := fmt.Sprintf("spec.scope is %q, expected %s or %s", scope, namespaced, cluster)
	if strings.HasSuffix(fieldpath.Text(obj, "apiVersion"), "/v1") {
		text = fmt.Sprintf("spec.scope is %q, expected %s, %s or %s", scope, namespaced, cluster, legacyCluster)
	} else {
		scopes = scopes[:2]
	}
	return fmt.Errorf("%s%s", text, hint.DidYouMean(hint.Nearest(scope, scopes)))
}

const (
	namespaced    = "Namespaced"
	cluster       = "Cluster"
	legacyCluster = "LegacyCluster"
)

// versionsOf returns the versions of a definition. A CRD of v1beta1 may have
// one schema for all versions, and the field version instead of versions.
func versionsOf(spec map[string]any) []Version {
	common := fieldpath.Map(spec, "validation", "openAPIV3Schema")
	listed := fieldpath.List(spec, "versions")
	if name := fieldpath.Text(spec, "version"); name != "" && len(listed) == 0 {
		return []Version{{Name: name, Served: true, Storage: true, schema: common, raw: map[string]any{}}}
	}
	var all []Version
	for _, v := range listed {
		version := fieldpath.Map(v)
		schema := fieldpath.Map(version, "schema", "openAPIV3Schema")
		if schema == nil {
			schema = common
		}
		all = append(all, Version{
			Name: fieldpath.Text(version, "name"), Served: version["served"] == true, Deprecated: version["deprecated"] == true,
			Storage: version["storage"] == true || version["referenceable"] == true, schema: schema, raw: version,
		})
	}
	return all
}
