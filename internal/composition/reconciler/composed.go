package reconciler

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ResourceName returns the name of a composed resource in the pipeline, or "".
func ResourceName(resource map[string]any) string {
	name, _, _ := unstructured.NestedString(resource, "metadata", "annotations", AnnotationResourceName)
	return name
}

// ComposedByName returns composed resources by their name in the pipeline.
func ComposedByName(composed []map[string]any) map[string]map[string]any {
	m := make(map[string]map[string]any, len(composed))
	for _, c := range composed {
		m[ResourceName(c)] = c
	}
	return m
}

// body returns the object in a desired resource. It is never nil.
func body(r *fnv1.Resource) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: r.GetResource().AsMap()}
	if u.Object == nil {
		u.Object = map[string]any{}
	}
	return u
}

// keepIdentity copies the namespace, name and generateName of the observed resource to
// a desired resource, even if they are empty.
func keepIdentity(desired, observed *unstructured.Unstructured) {
	if observed == nil {
		return
	}
	desired.SetNamespace(observed.GetNamespace())
	desired.SetName(observed.GetName())
	desired.SetGenerateName(observed.GetGenerateName())
}

// forceNamespace sets the namespace of a desired resource to the XR's namespace,
// if the XR has one. It returns the namespace that it replaced, if any.
func forceNamespace(desired, xr *unstructured.Unstructured) (overridden string) {
	ns := xr.GetNamespace()
	if ns == "" {
		return ""
	}
	if was := desired.GetNamespace(); was != ns {
		overridden = was
	}
	desired.SetNamespace(ns)
	return overridden
}

// labels are the values of the labels that Crossplane sets on an XR's composed resources.
// composite is the name of the outermost XR. It is also the prefix of generated names.
type labels struct{ composite, claimName, claimNamespace string }

func labelsOf(xr *unstructured.Unstructured) labels {
	l := xr.GetLabels()
	return labels{cmp.Or(l[LabelComposite], xr.GetName()), l[LabelClaimName], l[LabelClaimNamespace]}
}

// mark sets the labels, and an annotation with the resource's name in the pipeline. It sets
// the claim labels only if both the claim's name and its namespace are known.
func (l labels) mark(desired *unstructured.Unstructured, resourceName string) {
	labels := map[string]string{LabelComposite: l.composite}
	if l.claimName != "" && l.claimNamespace != "" {
		labels[LabelClaimName], labels[LabelClaimNamespace] = l.claimName, l.claimNamespace
	}
	add(desired, "labels", labels)
	if resourceName != "" {
		add(desired, "annotations", map[string]string{AnnotationResourceName: resourceName})
	}
}

// add adds entries to metadata.labels or metadata.annotations. If an existing
// value is not a string, add replaces the whole map, like Kubernetes.
func add(u *unstructured.Unstructured, field string, entries map[string]string) {
	all, _, _ := unstructured.NestedNullCoercingStringMap(u.Object, "metadata", field)
	if len(all) == 0 {
		all = entries
	} else {
		maps.Copy(all, entries)
	}
	_ = unstructured.SetNestedStringMap(u.Object, all, "metadata", field)
}

// SetController sets xr as u's controlling owner. It returns an error if
// another object controls u.
func SetController(u, xr *unstructured.Unstructured) error {
	if c := metav1.GetControllerOfNoCopy(u); c != nil && c.UID != xr.GetUID() {
		return fmt.Errorf("already controlled by %s %q", c.Kind, c.Name)
	}
	refs := u.GetOwnerReferences()
	if len(refs) == 0 {
		// Setting the map directly is faster than u.SetOwnerReferences.
		if m, ok := u.Object["metadata"].(map[string]any); ok {
			m["ownerReferences"] = []any{map[string]any{
				"apiVersion": xr.GetAPIVersion(), "kind": xr.GetKind(), "name": xr.GetName(), "uid": string(xr.GetUID()),
				"controller": true, "blockOwnerDeletion": true,
			}}
		}
		return nil
	}
	ref := *metav1.NewControllerRef(xr, xr.GroupVersionKind())
	if i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }); i >= 0 {
		refs[i] = ref
	} else {
		refs = append(refs, ref)
	}
	u.SetOwnerReferences(refs)
	return nil
}

// Keys of Crossplane's labels and annotations.
const (
	LabelComposite         = "crossplane.io/composite"
	LabelClaimName         = "crossplane.io/claim-name"
	LabelClaimNamespace    = "crossplane.io/claim-namespace"
	AnnotationResourceName = "crossplane.io/composition-resource-name"
	AnnotationPaused       = "crossplane.io/paused"
	AnnotationReconcile    = "crossplane.io/reconcile-requested-at"
)

// APIVersion is the apiVersion of documents that exist only in rendered output.
const APIVersion = "render.crossplane.io/v1beta1"

// Time replaces all times in output, so that renders are reproducible.
const Time = "2024-01-01T00:00:00Z"

// observe returns the observed state that functions get. If several resources
// have the same name in the pipeline, it uses the last one. It reads connection
// details from the Secrets in secrets.
func observe(xr *unstructured.Unstructured, observed []*unstructured.Unstructured, secrets Store) (*fnv1.State, error) {
	r, err := observeOne(xr, secrets)
	if err != nil {
		return nil, fmt.Errorf("encoding the composite resource: %w", err)
	}
	state := &fnv1.State{Composite: r}
	if len(observed) > 0 {
		state.Resources = make(map[string]*fnv1.Resource, len(observed))
	}
	for _, o := range observed {
		name := o.GetAnnotations()[AnnotationResourceName]
		if state.Resources[name], err = observeOne(o, secrets); err != nil {
			return nil, fmt.Errorf("encoding observed resource %q: %w", name, err)
		}
	}
	return state, nil
}

func observeOne(o *unstructured.Unstructured, secrets Store) (*fnv1.Resource, error) {
	s, err := newStruct(o.Object)
	return &fnv1.Resource{Resource: s, ConnectionDetails: secrets.ConnectionDetails(o)}, err
}

// ByName returns the observed resources by their name in the pipeline, which is
// the value of the annotation AnnotationResourceName.
func ByName(observed []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	m := make(map[string]*unstructured.Unstructured, len(observed))
	for _, o := range observed {
		m[o.GetAnnotations()[AnnotationResourceName]] = o
	}
	return m
}

// capabilities returns request metadata with the capabilities that this engine supports.
func capabilities() *fnv1.RequestMeta {
	return &fnv1.RequestMeta{Capabilities: []fnv1.Capability{
		fnv1.Capability_CAPABILITY_CAPABILITIES,
		fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		fnv1.Capability_CAPABILITY_CREDENTIALS,
		fnv1.Capability_CAPABILITY_CONDITIONS,
		fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS,
	}}
}

func document(kind, field string, value map[string]any) map[string]any {
	return map[string]any{"apiVersion": APIVersion, "kind": kind, field: value}
}

// ConnectionDetails returns the document of an XR's connection details with the given keys,
// or with all keys if keys is empty.
func ConnectionDetails(details map[string][]byte, keys []string) map[string]any {
	data := map[string]any{}
	for k, v := range details {
		if len(keys) == 0 || slices.Contains(keys, k) {
			data[k] = base64.StdEncoding.EncodeToString(v)
		}
	}
	return document("ConnectionDetails", "data", data)
}
