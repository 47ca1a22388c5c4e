package crd

import "github.com/xfn-dev/xfn/internal/patch/fieldpath"

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
