package schema

import (
	"maps"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A NameFunc returns the errors of a name or a generateName.
type NameFunc = apivalidation.ValidateNameFunc

var subdomain NameFunc = apivalidation.NameIsDNSSubdomain

// Metadata returns the faults that the API server would find in an object's
// metadata when it is created, or when it replaces old. Fields that the server
// sets, and the UIDs of owners, may be missing.
func Metadata(obj, old map[string]any, namespaced bool, name NameFunc) []Fault {
	return faults(metadata(runtime.DeepCopyJSON(obj), old, namespaced, name))
}

// metadata is Metadata with the errors of the API server's library.
func metadata(obj, old map[string]any, namespaced bool, name NameFunc) field.ErrorList {
	path := field.NewPath("metadata")
	meta, ok := obj["metadata"].(map[string]any)
	if !ok && obj["metadata"] != nil {
		return field.ErrorList{field.TypeInvalid(path, obj["metadata"], "must be an object")}
	}
	// An object may omit its metadata.
	if meta == nil {
		meta = map[string]any{}
	}
	meta = maps.Clone(meta)
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": meta}}
	fillOwners(u)
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(generated(u.GetGenerateName()))
	}
	if old == nil {
		return apivalidation.ValidateObjectMetaAccessor(u, namespaced, name, path)
	}
	was := &unstructured.Unstructured{Object: old}
	fillFrom(u, was)
	return apivalidation.ValidateObjectMetaAccessorUpdate(u, was, path)
}

// serverOwned are the fields that an update keeps if they are missing.
var serverOwned = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}

func fillFrom(u, old *unstructured.Unstructured) {
	meta, _ := u.Object["metadata"].(map[string]any)
	was, _ := old.Object["metadata"].(map[string]any)
	for _, key := range serverOwned {
		if v, ok := was[key]; ok && meta[key] == nil {
			meta[key] = v
		}
	}
	if u.GetResourceVersion() == "" {
		u.SetResourceVersion("0")
	}
}

// fillOwners sets missing UIDs of owners, such as in rendered objects.
func fillOwners(u *unstructured.Unstructured) {
	owners := u.GetOwnerReferences()
	if len(owners) == 0 {
		return
	}
	for i, o := range owners {
		if o.UID == "" {
			owners[i].UID = "unknown"
		}
	}
	u.SetOwnerReferences(owners)
}

// generated returns a name that the API server could generate from a prefix.
func generated(prefix string) string {
	const random, longest = "xxxxx", 63
	return prefix[:min(len(prefix), longest-len(random))] + random
}
