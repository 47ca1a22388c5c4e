package composition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// chartKinds are the kinds of Kubernetes that the ClusterRole in the Helm charts of Crossplane v1.11 to
// v2.4 grants with all verbs that a composed resource needs: get, list, watch, create, update,
// patch and delete. The charts also grant Events, but not to read them.
var chartKinds = map[kschema.GroupKind]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "Service"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:               true,
	{Group: "apps", Kind: "Deployment"}:                                             true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                   true,
}

// chartGroups are the API groups whose kinds these charts grant. The charts of v1 grant
// secrets.crossplane.io, and the charts of v2 grant ops.crossplane.io and
// protection.crossplane.io.
var chartGroups = []string{
	"apiextensions.crossplane.io", "ops.crossplane.io", "pkg.crossplane.io", "protection.crossplane.io", "secrets.crossplane.io",
}

// configKinds are the kinds of providers' own CRDs, in any group. Crossplane's RBAC manager grants
// all CRDs of a provider's package, as it does for managed resources.
var configKinds = []string{"ProviderConfig", "ClusterProviderConfig", "ProviderConfigUsage"}

// MayCompose reports whether Crossplane may compose an object without another ClusterRole. It may
// compose managed resources and composite resources, because its RBAC manager grants it access to
// them, and some kinds that Crossplane itself needs (its documentation, "Compositions"). An object is
// a managed resource if it has spec.forProvider, a composite resource if its kind is in composites,
// and the configuration of a provider if its kind is in configKinds. Crossplane may also compose any
// kind whose group is in a domain that only packages of Crossplane and Upbound use.
func MayCompose(obj map[string]any, composites map[kschema.GroupKind]bool) bool {
	u := &unstructured.Unstructured{Object: obj}
	gk := u.GroupVersionKind().GroupKind()
	_, managed, _ := unstructured.NestedFieldNoCopy(obj, "spec", "forProvider")
	official := strings.HasSuffix(gk.Group, ".upbound.io") || strings.HasSuffix(gk.Group, ".crossplane.io")
	return managed || official || composites[gk] || slices.Contains(configKinds, gk.Kind) || InHelmChart(gk)
}

// InHelmChart reports whether the ClusterRole of Crossplane's Helm chart grants a kind, also without the
// RBAC manager.
func InHelmChart(gk kschema.GroupKind) bool {
	return chartKinds[gk] || slices.Contains(chartGroups, gk.Group)
}

// A TemplateBase is the base of a template, its path in the Composition, and the template's name. If
// patches write to spec.forProvider, the object has this field.
type TemplateBase struct {
	Field, Name string
	Object      map[string]any
}

// TemplateBases returns the bases of function-patch-and-transform's templates in a Composition.
// steps are the names of the other steps, whose resources are known only after a render. A step of
// function-auto-ready is not among them, because it composes nothing.
func TemplateBases(e Entry) (bases []TemplateBase, steps []string) {
	for i, step := range e.Spec.Pipeline {
		if strings.HasSuffix(step.FunctionRef.Name, "function-auto-ready") {
			continue
		}
		input := cmp.Or(step.Input, &runtime.RawExtension{})
		var in templateInput
		// An input that is missing or cannot be decoded belongs to another function.
		err := json.Unmarshal(input.Raw, &in)
		if err != nil || !strings.HasPrefix(in.APIVersion, "pt.fn.crossplane.io/") {
			steps = append(steps, step.Step)
			continue
		}
		for j, r := range in.Resources {
			if r.Base == nil {
				continue
			}
			if in.manages(r.Patches) {
				given, _, _ := unstructured.NestedMap(r.Base, "spec")
				spec := map[string]any{"forProvider": map[string]any{}}
				maps.Copy(spec, given)
				r.Base["spec"] = spec
			}
			field := fmt.Sprintf("spec.pipeline[%d].input.resources[%d].base", i, j)
			bases = append(bases, TemplateBase{e.DocumentField(field), r.Name, r.Base})
		}
	}
	return bases, steps
}

// templateInput has the fields of an input of function-patch-and-transform that TemplateBases reads.
type templateInput struct {
	APIVersion string `json:"apiVersion"`
	PatchSets  []struct {
		Name    string          `json:"name"`
		Patches []templatePatch `json:"patches"`
	} `json:"patchSets"`
	Resources []struct {
		Name    string          `json:"name"`
		Base    map[string]any  `json:"base"`
		Patches []templatePatch `json:"patches"`
	} `json:"resources"`
}

type templatePatch struct {
	PatchSetName  string `json:"patchSetName"`
	FromFieldPath string `json:"fromFieldPath"`
	ToFieldPath   string `json:"toFieldPath"`
}

// manages reports whether patches write to spec.forProvider, or read its state from a provider.
// Patch sets cannot use patch sets.
func (in templateInput) manages(patches []templatePatch) bool {
	return slices.ContainsFunc(patches, func(p templatePatch) bool {
		for _, set := range in.PatchSets {
			if p.PatchSetName != "" && set.Name == p.PatchSetName && slices.ContainsFunc(set.Patches, templatePatch.manages) {
				return true
			}
		}
		return p.manages()
	})
}

func (p templatePatch) manages() bool {
	to := cmp.Or(p.ToFieldPath, p.FromFieldPath)
	return strings.HasPrefix(to, "spec.forProvider") || strings.HasPrefix(p.FromFieldPath, "status.atProvider")
}

// aggregateLabel is the label of ClusterRoles that aggregate to Crossplane's ClusterRole.
const aggregateLabel = "rbac.crossplane.io/aggregate-to-crossplane"

// composeVerbs are the verbs that Crossplane needs to compose a kind.
var composeVerbs = []string{"create", "delete", "get", "list", "patch", "watch"}

// RolesGrant reports whether the ClusterRoles in objs let Crossplane compose a resource: they
// aggregate to the ClusterRole of Crossplane, and have rules for the resource.
func RolesGrant(objs []map[string]any, resource kschema.GroupResource) bool {
	missing := slices.Clone(composeVerbs)
	for _, obj := range objs {
		u := &unstructured.Unstructured{Object: obj}
		if gk := u.GroupVersionKind().GroupKind(); gk.Group != rbacGroup || gk.Kind != "ClusterRole" || u.GetLabels()[aggregateLabel] != "true" {
			continue
		}
		rules, _, _ := unstructured.NestedSlice(obj, "rules")
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			has := func(field, value string) bool {
				given, _, _ := unstructured.NestedStringSlice(rule, field)
				return slices.Contains(given, "*") || slices.Contains(given, value)
			}
			if has("apiGroups", resource.Group) && has("resources", resource.Resource) {
				missing = slices.DeleteFunc(missing, func(verb string) bool { return has("verbs", verb) })
			}
		}
	}
	return len(missing) == 0
}

const rbacGroup = "rbac.authorization.k8s.io"

// ResourceOf returns the resource of a kind. plural returns the plural name of a kind, or "", and
// guessed is true if it does.
func ResourceOf(gvk kschema.GroupVersionKind, plural func(kschema.GroupKind) string) (_ kschema.GroupResource, guessed bool) {
	if resource := plural(gvk.GroupKind()); resource != "" {
		return kschema.GroupResource{Group: gvk.Group, Resource: resource}, false
	}
	guess, _ := meta.UnsafeGuessKindToResource(gvk)
	// The guess for Gateway is gatewaies.
	if stem, ok := strings.CutSuffix(strings.ToLower(gvk.Kind), "y"); ok && strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeiou") {
		guess.Resource = stem + "ys"
	}
	return guess.GroupResource(), true
}

// ClusterRole returns a ClusterRole that aggregates to Crossplane's ClusterRole, and grants
// Crossplane access to the kinds. plural returns the plural name of a kind, or "". guessed are the
// kinds whose plural is derived from the kind. Crossplane also gets access to the status and the
// finalizers of composites. If there are no kinds, the ClusterRole is nil.
func ClusterRole(name string, kinds map[kschema.GroupVersionKind]bool, composites map[kschema.GroupKind]bool, plural func(kschema.GroupKind) string) (role map[string]any, guessed []string) {
	groups := map[string][]string{}
	for gvk := range kinds {
		resource, isGuess := ResourceOf(gvk, plural)
		if isGuess {
			guessed = append(guessed, gvk.GroupKind().String())
		}
		if !slices.Contains(groups[gvk.Group], resource.Resource) {
			groups[gvk.Group] = append(groups[gvk.Group], resource.Resource)
			if composites[gvk.GroupKind()] {
				groups[gvk.Group] = append(groups[gvk.Group], resource.Resource+"/status", resource.Resource+"/finalizers")
			}
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
		"apiVersion": rbacGroup + "/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": name, "labels": map[string]any{aggregateLabel: "true"}},
		"rules":    rules,
	}, slices.Compact(guessed)
}

// ClusterRoleBinding returns the binding of a ClusterRole to the ServiceAccount of Crossplane, with the
// names of its Helm chart. Without the RBAC manager, no ClusterRole aggregates to Crossplane's.
func ClusterRoleBinding(role string) map[string]any {
	return map[string]any{
		"apiVersion": rbacGroup + "/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": role},
		"roleRef":  map[string]any{"apiGroup": rbacGroup, "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "crossplane", "namespace": "crossplane-system"}},
	}
}
