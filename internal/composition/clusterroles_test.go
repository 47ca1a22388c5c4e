package composition_test

import (
	"encoding/json"
	"fmt"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestMayCompose checks which kinds Crossplane may compose without another ClusterRole, by the
// ClusterRole of its Helm chart and the rules of its RBAC manager.
func TestMayCompose(t *testing.T) {
	t.Parallel()
	composites := map[schema.GroupKind]bool{{Group: "example.org", Kind: "App"}: true}
	for name, tc := range map[string]struct {
		reason, apiVersion, kind string
		spec                     map[string]any
		want                     bool
	}{
		"Managed":       {"the RBAC manager grants managed resources", "s3.example.org/v1", "Bucket", map[string]any{"forProvider": map[string]any{}}, true},
		"Composite":     {"the RBAC manager grants the composite resources of XRDs", "example.org/v1", "App", nil, true},
		"Configuration": {"a ProviderConfig is a kind of a provider's package", "aws.example.org/v1", "ProviderConfig", nil, true},
		"Other":         {"a kind of no package needs a ClusterRole", "postgresql.cnpg.io/v1", "Cluster", nil, false},
		"SameKind":      {"the kind of an XRD in another group needs a ClusterRole", "example.com/v1", "App", nil, false},
		"ConfigMap":     {"the chart grants ConfigMaps", "v1", "ConfigMap", nil, true},
		"Secret":        {"the chart grants Secrets", "v1", "Secret", nil, true},
		"Service":       {"the chart grants Services", "v1", "Service", nil, true},
		"Account":       {"the chart grants ServiceAccounts", "v1", "ServiceAccount", nil, true},
		"Deployment":    {"the chart grants Deployments", "apps/v1", "Deployment", nil, true},
		"Lease":         {"the chart grants Leases", "coordination.k8s.io/v1", "Lease", nil, true},
		"CRD":           {"the chart grants CustomResourceDefinitions", "apiextensions.k8s.io/v1", "CustomResourceDefinition", nil, true},
		"Webhook":       {"the chart grants webhook configurations", "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", nil, true},
		"Mutating":      {"the chart grants mutating webhook configurations", "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", nil, true},
		"Usage":         {"the chart of v2 grants the group of Usages", "protection.crossplane.io/v1beta1", "Usage", nil, true},
		"StoreConfig":   {"the chart of v1 grants the group of StoreConfigs", "secrets.crossplane.io/v1alpha1", "StoreConfig", nil, true},
		"Event":         {"the chart grants Events only to write them", "v1", "Event", nil, false},
		"Pod":           {"the chart grants no Pods", "v1", "Pod", nil, false},
		"Namespace":     {"the chart grants no Namespaces", "v1", "Namespace", nil, false},
		"StatefulSet":   {"the chart grants only Deployments of the group apps", "apps/v1", "StatefulSet", nil, false},
		"Role":          {"the chart grants no kinds of RBAC", "rbac.authorization.k8s.io/v1", "ClusterRole", nil, false},
		"Policy":        {"the chart grants no admission policies", "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj := map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind}
			if tc.spec != nil {
				obj["spec"] = tc.spec
			}
			e2e.Equal(t, tc.reason, tc.want, composition.MayCompose(obj, composites))
		})
	}
}

// TestTemplateBases checks that the bases of templates are read, and that other steps are listed.
func TestTemplateBases(t *testing.T) {
	t.Parallel()
	const base = "spec.pipeline[0].input.resources[%d].base"
	input := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: json.RawMessage(text)} }
	e := composition.Entry{Composition: &apiextv1.Composition{Spec: apiextv1.CompositionSpec{Pipeline: []apiextv1.PipelineStep{
		{Step: "patch", Input: input(`{"apiVersion":"pt.fn.crossplane.io/v1beta1","patchSets":[{"name":"set","patches":[{"toFieldPath":"spec.forProvider.region"}]},{"name":"loop","patches":[{"type":"PatchSet","patchSetName":"loop"}]}],
			"resources":[{"name":"none"},{"name":"a","base":{"kind":"Pod"},"patches":[{"toFieldPath":"spec.a"}]},
			{"name":"patched","base":{"kind":"Bucket","spec":{"a":1}},"patches":[{"toFieldPath":"spec.forProvider"}]},
			{"name":"set","base":{"kind":"Bucket"},"patches":[{"type":"PatchSet","patchSetName":"set"}]},
			{"name":"status","base":{"kind":"Bucket","spec":{"forProvider":{"a":1}}},"patches":[{"fromFieldPath":"status.atProvider.id"}]},
			{"name":"same","base":{"kind":"Bucket"},"patches":[{"fromFieldPath":"spec.forProvider.region"}]},
			{"name":"loop","base":{"kind":"Pod"},"patches":[{"type":"PatchSet","patchSetName":"loop"}]}]}`)},
		{Step: "ready", FunctionRef: apiextv1.FunctionReference{Name: "crossplane-contrib-function-auto-ready"}},
		{Step: "embedded"},
		{Step: "template", Input: input(`{"apiVersion":"gotemplating.fn.crossplane.io/v1beta1"}`)},
		{Step: "list", Input: input(`{"apiVersion":"example.org/v1","resources":"text"}`)},
	}}}}
	bases, steps := composition.TemplateBases(e)
	managed := map[string]any{"forProvider": map[string]any{}}
	want := []composition.TemplateBase{
		{Field: fmt.Sprintf(base, 1), Name: "a", Object: map[string]any{"kind": "Pod"}},
		{Field: fmt.Sprintf(base, 2), Name: "patched", Object: map[string]any{"kind": "Bucket", "spec": map[string]any{"a": 1.0, "forProvider": map[string]any{}}}},
		{Field: fmt.Sprintf(base, 3), Name: "set", Object: map[string]any{"kind": "Bucket", "spec": managed}},
		{Field: fmt.Sprintf(base, 4), Name: "status", Object: map[string]any{"kind": "Bucket", "spec": map[string]any{"forProvider": map[string]any{"a": 1.0}}}},
		{Field: fmt.Sprintf(base, 5), Name: "same", Object: map[string]any{"kind": "Bucket", "spec": map[string]any{"forProvider": map[string]any{}}}},
		{Field: fmt.Sprintf(base, 6), Name: "loop", Object: map[string]any{"kind": "Pod"}},
	}
	e2e.Equal(t, "only a template with a base has one, and patches of spec.forProvider make it a managed resource", want, bases)
	e2e.Equal(t, "a function without an input composes resources, except function-auto-ready", []string{"embedded", "template", "list"}, steps)
}

// TestRolesGrant checks which ClusterRoles let Crossplane compose NetworkPolicies.
func TestRolesGrant(t *testing.T) {
	t.Parallel()
	const label = "labels: {rbac.crossplane.io/aggregate-to-crossplane: 'true'}"
	for name, tc := range map[string]struct {
		reason, kind, labels, rule string
		want                       bool
	}{
		"All":      {"all verbs are enough", "ClusterRole", label, "{apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: ['*']}", true},
		"Verbs":    {"these verbs are enough", "ClusterRole", label, "{apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [get, list, watch, create, patch, delete]}", true},
		"Split":    {"the verbs of several rules are enough", "ClusterRole", label, "{apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [get, list, watch]}, {apiGroups: ['*'], resources: [networkpolicies], verbs: [create, patch, delete]}", true},
		"Any":      {"a rule for everything includes the resource", "ClusterRole", label, "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}", true},
		"Read":     {"Crossplane must also create the resource", "ClusterRole", label, "{apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [get, list, watch]}", false},
		"Resource": {"another resource of the group is not enough", "ClusterRole", label, "{apiGroups: [networking.k8s.io], resources: [ingresses], verbs: ['*']}", false},
		"Group":    {"the resource of another group is not enough", "ClusterRole", label, "{apiGroups: [''], resources: [networkpolicies], verbs: ['*']}", false},
		"Label":    {"a ClusterRole without the label does not aggregate", "ClusterRole", "name: x", "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}", false},
		"Role":     {"a Role is for one namespace", "Role", label, "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}", false},
		"NoRules":  {"a ClusterRole may have no rules", "ClusterRole", label, "null", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "{apiVersion: rbac.authorization.k8s.io/v1, kind: " + tc.kind + ", metadata: {" + tc.labels + "}, rules: [" + tc.rule + "]}"
			obj := e2e.Object(t, text)
			e2e.Equal(t, tc.reason, tc.want, composition.RolesGrant([]map[string]any{obj}, schema.GroupResource{Group: "networking.k8s.io", Resource: "networkpolicies"}))
		})
	}
}

// TestClusterRole checks the rules and the label, and which plural names are guessed.
func TestClusterRole(t *testing.T) {
	t.Parallel()
	plural := func(gk schema.GroupKind) string {
		if gk.Kind == "Cluster" {
			return "pgclusters"
		}
		return ""
	}
	kinds := map[schema.GroupVersionKind]bool{
		{Group: "cnpg.io", Version: "v1", Kind: "Cluster"}: true,
		{Version: "v1", Kind: "Pod"}:                       true,
		{Version: "v1", Kind: "Namespace"}:                 true,
		{Version: "v1", Kind: "Gateway"}:                   true,
		{Version: "v1", Kind: "Policy"}:                    true,
		{Group: "cnpg.io", Version: "v2", Kind: "Cluster"}: true,
	}
	role, guessed := composition.ClusterRole("x", kinds, map[schema.GroupKind]bool{{Kind: "Pod"}: true}, plural)
	rule := func(group string, resources ...any) any {
		return map[string]any{"apiGroups": []any{group}, "resources": resources, "verbs": []any{"*"}}
	}
	want := map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": "x", "labels": map[string]any{"rbac.crossplane.io/aggregate-to-crossplane": "true"}},
		"rules":    []any{rule("", "gateways", "namespaces", "pods", "pods/finalizers", "pods/status", "policies"), rule("cnpg.io", "pgclusters")},
	}
	e2e.Equal(t, "there is a rule for each group, and a resource for each kind", want, role)
	e2e.Equal(t, "kinds without a definition are guessed", []string{"Gateway", "Namespace", "Pod", "Policy"}, guessed)
	if role, _ := composition.ClusterRole("x", nil, nil, plural); role != nil {
		t.Errorf("no kinds need no ClusterRole, got %v", role)
	}
}
