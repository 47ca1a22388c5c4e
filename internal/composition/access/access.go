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

// own are resources of Kubernetes that the ClusterRole of Crossplane's Helm chart grants, because
// Crossplane creates them for packages, connection details and its own work. The list was not
// compared with the charts of all releases, nor were the verbs that they grant.
var own = map[kschema.GroupKind]bool{
	{Group: "apps", Kind: "Deployment"}: true,
	{Kind: "Secret"}:                    true, {Kind: "Service"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
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
	return managed || composites[gk] || own[gk] || slices.Contains(configurations, gk.Kind) || isCrossplane(gk.Group)
}

// isCrossplane reports whether a group is one of Crossplane's own APIs.
func isCrossplane(group string) bool {
	return slices.Contains([]string{"apiextensions.crossplane.io", "pkg.crossplane.io", "protection.crossplane.io", "ops.crossplane.io"}, group)
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
