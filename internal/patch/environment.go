package patch

import "k8s.io/apimachinery/pkg/runtime/schema"

// Environment returns an environment to patch, which must have a kind.
func Environment(fields map[string]any) Object {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	if gv, err := schema.ParseGroupVersion(apiVersion); err != nil || gv.WithKind(kind).Empty() {
		fields["apiVersion"], fields["kind"] = "internal.crossplane.io/v1alpha1", "Environment"
	}
	return Object{Fields: fields}
}
