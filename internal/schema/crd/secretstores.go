package crd

import "k8s.io/apimachinery/pkg/runtime"

// WithSecretStores returns a generated CRD as Crossplane v1 generated it: with the field
// spec.publishConnectionDetailsTo, which selects an external secret store. Other CRDs, and CRDs
// of composite resources that Crossplane v1 did not have, are returned unchanged.
func WithSecretStores(crd map[string]any) map[string]any {
	if crd["kind"] != customResource {
		return crd
	}
	out := object(runtime.DeepCopyJSON(crd))
	for _, v := range out.object("spec").list("versions") {
		version, _ := v.(map[string]any)
		props := object(version).object("schema").object("openAPIV3Schema").object("properties").object("spec").object("properties")
		_, selects := props["compositionRef"]
		_, writes := props["writeConnectionSecretToRef"]
		if _, given := props[publishTo]; selects && writes && !given {
			props[publishTo] = publishConnectionDetailsTo()
		}
	}
	return out
}

const publishTo = "publishConnectionDetailsTo"

func publishConnectionDetailsTo() map[string]any {
	config := objectOf(nil, stringFields("name"))
	config["default"] = map[string]any{"name": "default"}
	metadata := objectOf(nil, object{"labels": objectOf(str(), nil), "annotations": objectOf(str(), nil), "type": str()})
	return objectOf(nil, object{"name": str(), "configRef": config, "metadata": metadata}, "name")
}
