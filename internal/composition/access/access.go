package access

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
)

// own are the kinds of Kubernetes that the ClusterRole in the Helm charts of Crossplane v1.11 to
// v2.4 grants with all verbs that a composed resource needs: get, list, watch, create, update,
// patch and delete. The charts also grant Events, but not to read them.
var own = map[kschema.GroupKind]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "Service"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:               true,
	{Group: "apps", Kind: "Deployment"}:                                             true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                   true,
}

// crossplaneGroups are the API groups whose kinds these charts grant. The charts of v1 grant
// secrets.crossplane.io, and those of v2 grant ops.crossplane.io and protection.crossplane.io.
var crossplaneGroups = []string{
	"apiextensions.crossplane.io", "ops.crossplane.io", "pkg.crossplane.io", "protection.crossplane.io", "secrets.crossplane.io",
}

// configurations are the kinds of providers' own CRDs, in any group. Crossplane's RBAC manager grants
// all CRDs of a provider's package, as it does for managed resources.
var configurations = []string{"ProviderConfig", "ClusterProviderConfig", "ProviderConfigUsage"}

// Granted reports whether Crossplane may compose an object without another ClusterRole. An object
// is a managed resource if it has spec.forProvider, a composite resource if its kind is in
// composites, and the configuration of a provider if its kind has that name.
func Granted(obj map[string]any, composites map[kschema.GroupKind]bool) bool {
	u := &unstructured.Unstructured{Object: obj}
	gk := u.GroupVersionKind().GroupKind()
	_, managed, _ := unstructured.NestedFieldNoCopy(obj, "spec", "forProvider")
	return managed || composites[gk] || own[gk] || slices.Contains(configurations, gk.Kind) || slices.Contains(crossplaneGroups, gk.Group)
}

// Bases returns the bases of function-patch-and-transform's templates in a Composition. steps are
// the names of the other steps with an input, whose resources are known only after a render.
func Bases(e composition.Entry) (bases []map[string]any, steps []string) {
	for _, step := range e.Spec.Pipeline {
		if step.Input == nil {
			continue
		}
		var input struct {
			APIVersion string `json:"apiVersion"`
			Resources  []struct {
				Base map[string]any `json:"base"`
			} `json:"resources"`
		}
		// An input that cannot be decoded is that of another function.
		err := json.Unmarshal(step.Input.Raw, &input)
		if err != nil || !strings.HasPrefix(input.APIVersion, "pt.fn.crossplane.io/") {
			steps = append(steps, step.Step)
			continue
		}
		for _, r := range input.Resources {
			if r.Base != nil {
				bases = append(bases, r.Base)
			}
		}
	}
	return bases, steps
}

// ClusterRole returns a ClusterRole that aggregates to that of Crossplane, and grants it access to
// the kinds. plural returns the plural name of a kind, or "". guessed are the kinds whose plural is
// derived from the kind. If there are no kinds, the ClusterRole is nil.
func ClusterRole(name string, kinds map[kschema.GroupVersionKind]bool, plural func(kschema.GroupKind) string) (role map[string]any, guessed []string) {
	groups := map[string][]string{}
	for gvk := range kinds {
		resource := plural(gvk.GroupKind())
		if resource == "" {
			guess, _ := meta.UnsafeGuessKindToResource(gvk)
			resource = guess.Resource
			guessed = append(guessed, gvk.GroupKind().String())
		}
		if !slices.Contains(groups[gvk.Group], resource) {
			groups[gvk.Group] = append(groups[gvk.Group], resource)
		}
	}
	if len(groups) == 0 {
		return nil, nil
	}
	slices.Sort(guessed)
	var rules []any
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		slices.Sort(groups[group])
		var resources []any
		for _, r := range groups[group] {
			resources = append(resources, r)
		}
		rules = append(rules, map[string]any{"apiGroups": []any{group}, "resources": resources, "verbs": []any{"*"}})
	}
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"rbac.crossplane.io/aggregate-to-crossplane": "true"}},
		"rules":    rules,
	}, slices.Compact(guessed)
}
