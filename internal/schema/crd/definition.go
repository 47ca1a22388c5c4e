package crd

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds that define others.
const (
	customResource    = "CustomResourceDefinition"
	compositeResource = "CompositeResourceDefinition"
	managedResource   = "ManagedResourceDefinition"
)

// A Definition is what a CRD, XRD or MRD defines.
type Definition struct {
	// Group, Kind and Plural are those of the kind. Scope is as the definition
	// has it: Namespaced, Cluster or LegacyCluster.
	Group  string `json:"group"`
	Kind   string `json:"kind"`
	Plural string `json:"plural"`
	Scope  string `json:"scope"`
	// Claim is the kind of an XRD's claims, or empty.
	Claim string `json:"claim,omitempty"`
	// Versions are in the definition's order.
	Versions []Version `json:"versions"`

	claimPlural string
}

// A Version is a version of a kind.
type Version struct {
	Name string `json:"name"`
	// Served is whether the API server answers for it. Storage is whether
	// objects are stored in it, and for an XRD whether Compositions may name it.
	Served     bool `json:"served"`
	Storage    bool `json:"storage"`
	Deprecated bool `json:"deprecated,omitempty"`

	schema object
	raw    object
}

// An object is a mapping of YAML or JSON. What is not of the type that is asked
// for counts as absent.
type object map[string]any

func (o object) object(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

func (o object) list(key string) []any {
	l, _ := o[key].([]any)
	return l
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o object) is(key string) bool {
	b, _ := o[key].(bool)
	return b
}

// Defines reports whether obj is a CRD, XRD or MRD, of any version.
func Defines(obj map[string]any) bool {
	group, _, _ := strings.Cut(object(obj).text("apiVersion"), "/")
	switch object(obj).text("kind") {
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
	return Defines(obj) && object(obj).text("kind") == compositeResource
}

// Read returns what a CRD, XRD or MRD defines, as Kubernetes' tools decode it. It
// must name a group, a kind and a version; its schemas are not checked.
func Read(obj map[string]any) (Definition, error) {
	if !Defines(obj) {
		return Definition{}, fmt.Errorf("it is a %s, and defines no kind", object(obj).text("kind"))
	}
	spec := object(obj).object("spec")
	names, claims := spec.object("names"), spec.object("claimNames")
	d := Definition{
		Group: spec.text("group"), Kind: names.text("kind"), Plural: names.text("plural"),
		Scope: scopeOf(obj, spec), Versions: versionsOf(spec),
		Claim: claims.text("kind"), claimPlural: claims.text("plural"),
	}
	switch {
	case d.Group == "":
		return d, errors.New("it names no group")
	case d.Kind == "":
		return d, errors.New("it names no kind")
	case len(d.Versions) == 0:
		return d, errors.New("it names no version")
	}
	return d, nil
}

// scopeOf returns a definition's scope, or what its absence means: XRDs of v1
// had none at first, and those of v2 are Namespaced.
func scopeOf(obj map[string]any, spec object) string {
	if scope := spec.text("scope"); scope != "" || !IsXRD(obj) {
		return scope
	}
	if strings.HasSuffix(object(obj).text("apiVersion"), "/v1") {
		return legacyCluster
	}
	return namespaced
}

const (
	namespaced    = "Namespaced"
	cluster       = "Cluster"
	legacyCluster = "LegacyCluster"
)

// versionsOf returns the versions of a definition. CRDs of v1beta1 may have one
// schema for all, and one version by its name alone.
func versionsOf(spec object) []Version {
	common := spec.object("validation").object("openAPIV3Schema")
	listed := spec.list("versions")
	if name := spec.text("version"); name != "" && len(listed) == 0 {
		return []Version{{Name: name, Served: true, Storage: true, schema: common, raw: object{}}}
	}
	var all []Version
	for _, v := range listed {
		m, _ := v.(map[string]any)
		version := object(m)
		schema := version.object("schema").object("openAPIV3Schema")
		if schema == nil {
			schema = common
		}
		all = append(all, Version{
			Name: version.text("name"), Served: version.is("served"), Deprecated: version.is("deprecated"),
			Storage: version.is("storage") || version.is("referenceable"), schema: schema, raw: version,
		})
	}
	return all
}
