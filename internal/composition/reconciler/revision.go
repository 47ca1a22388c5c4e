package reconciler

import (
	"maps"
	"slices"
	"strings"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// withRevision is Exact for a store that also has the CompositionRevision of c. It makes the
// revision when it is required, because its hash needs the whole Composition as YAML.
func (s Store) withRevision(c *apiextv1.Composition) func(*fnv1.ResourceSelector) *fnv1.Resources {
	all := sync.OnceValue(func() Store { return append(slices.Clip(s), revisionOf(c)) })
	return func(sel *fnv1.ResourceSelector) *fnv1.Resources {
		if sel.GetApiVersion() == apiextv1.SchemeGroupVersion.String() && strings.TrimSuffix(sel.GetKind(), "List") == apiextv1.CompositionRevisionKind {
			return all().Exact(sel)
		}
		return s.Exact(sel)
	}
}

// revisionOf returns the first CompositionRevision of a Composition.
func revisionOf(c *apiextv1.Composition) *unstructured.Unstructured {
	hash := c.Hash()
	hash = hash[:min(len(hash), 63)] // the length limit of labels
	labels := map[string]string{apiextv1.LabelCompositionName: c.GetName(), apiextv1.LabelCompositionHash: hash}
	maps.Copy(labels, c.GetLabels())
	spec := map[string]any{}
	if obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c); err == nil {
		spec = fieldpath.Map(obj, "spec")
	}
	spec["revision"] = int64(1)
	valid := Conditions{{Type: "ValidPipeline", Status: "True", Reason: "ValidPipeline", Since: Time}}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": map[string]any{"conditions": valid.Recorded()}}}
	u.SetGroupVersionKind(apiextv1.CompositionRevisionGroupVersionKind)
	u.SetName(c.GetName() + "-" + hash[:min(len(hash), 7)])
	u.SetLabels(labels)
	if len(c.GetAnnotations()) > 0 {
		u.SetAnnotations(c.GetAnnotations())
	}
	u.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(c, apiextv1.CompositionGroupVersionKind)})
	return u
}
