package schema

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A NameFunc validates the name, or the prefix in generateName, of an object
// and returns the errors.
type NameFunc = apivalidation.ValidateNameFunc

var subdomain NameFunc = apivalidation.NameIsDNSSubdomain

// Metadata returns the faults that the API server would find in the metadata of
// obj: when it creates obj or, if old is not nil, when it updates old to obj.
// Fields that the server sets, and the UIDs of owners, may be missing.
func Metadata(obj, old map[string]any, namespaced bool, name NameFunc) []Fault {
	return faults(metadata(Copy(obj), old, namespaced, name))
}

// Metadata is like the function Metadata. It also returns the errors for finalizers that the
// API server finds only in new objects of built-in kinds. Definitions of kinds and APIs may
// have any finalizer.
func (k Kind) Metadata(obj, old map[string]any) []Fault {
	found := Metadata(obj, old, k.Namespaced, k.Name)
	u := &unstructured.Unstructured{Object: obj}
	if group := u.GroupVersionKind().Group; old != nil || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" {
		return found
	}
	standard := []string{"kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for i, name := range u.GetFinalizers() {
		if !strings.Contains(name, "/") && !slices.Contains(standard, name) {
			at := field.NewPath("metadata", "finalizers").Index(i)
			found = append(found, Of(field.Invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified")))
		}
	}
	return found
}

// AnyMetadata returns the faults that the API server would find in the metadata of obj, an object
// of any kind. It does not validate names, whose rules depend on the kind.
func AnyMetadata(obj map[string]any) []Fault {
	meta, ok := obj["metadata"].(map[string]any)
	path := field.NewPath("metadata")
	switch {
	case obj["metadata"] == nil:
		return nil
	case !ok:
		return []Fault{Of(field.TypeInvalid(path, messageValue(obj["metadata"]), "must be an object"))}
	}
	found := DecodeKind(path, meta, reflect.TypeFor[metav1.ObjectMeta]())
	if len(found) > 0 {
		return found
	}
	meta = maps.Clone(meta)
	meta["name"] = "any"
	namespace, _ := meta["namespace"].(string)
	return Metadata(map[string]any{"metadata": meta}, nil, namespace != "", func(string, bool) []string { return nil })
}

// metadata implements Metadata. It returns the errors of the API server's library.
func metadata(obj, old map[string]any, namespaced bool, name NameFunc) field.ErrorList {
	path := field.NewPath("metadata")
	meta, ok := obj["metadata"].(map[string]any)
	if !ok && obj["metadata"] != nil {
		return field.ErrorList{field.TypeInvalid(path, obj["metadata"], "must be an object")}
	}
	// An object may have no metadata.
	if meta == nil {
		meta = map[string]any{}
	}
	meta = maps.Clone(meta)
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": meta}}
	fillOwners(u)
	if !namespaced {
		// The server clears the namespace of a cluster-scoped object (rest.BeforeCreate).
		delete(meta, "namespace")
	}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		const random, longest = "xxxxx", 63
		prefix := u.GetGenerateName()
		u.SetName(prefix[:min(len(prefix), longest-len(random))] + random) // a name that the API server could generate
	}
	if old == nil {
		return apivalidation.ValidateObjectMetaAccessor(u, namespaced, name, path)
	}
	was := &unstructured.Unstructured{Object: Copy(old)}
	if !namespaced {
		was.SetNamespace("")
	}
	fillFrom(u, was)
	return apivalidation.ValidateObjectMetaAccessorUpdate(u, was, path)
}

// serverOwned are the fields of metadata that keep their old value if an update
// does not contain them.
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

// fillOwners sets missing UIDs of owner references. Rendered objects have none,
// but validation requires them.
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
