package xpkg_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// The kinds that the v2 control plane accepts in each kind of package.
func TestKinds(t *testing.T) {
	const fn, cfg, prov = "Function", "Configuration", "Provider"
	cases := []struct {
		apiVersion, kind string
		in               []string
	}{
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", []string{fn, prov}},
		{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", []string{fn, prov}},
		{"apiextensions.k8s.io/v2", "CustomResourceDefinition", nil},
		{"apiextensions.crossplane.io/v1", "CompositeResourceDefinition", []string{cfg}},
		{"apiextensions.crossplane.io/v2", "CompositeResourceDefinition", []string{cfg}},
		{"apiextensions.crossplane.io/v1", "Composition", []string{cfg}},
		{"apiextensions.crossplane.io/v2", "Composition", nil},
		{"apiextensions.crossplane.io/v1", "CompositionRevision", nil},
		{"apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy", []string{cfg}},
		{"apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", []string{prov}},
		{"apiextensions.crossplane.io/v1beta1", "EnvironmentConfig", nil},
		{"ops.crossplane.io/v1alpha1", "Operation", []string{cfg}},
		{"ops.crossplane.io/v1alpha1", "CronOperation", []string{cfg}},
		{"ops.crossplane.io/v1alpha1", "WatchOperation", []string{cfg}},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", []string{prov}},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", []string{prov}},
		{"admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", nil},
		{"pkg.crossplane.io/v1", "Provider", nil},
		{"v1", "ConfigMap", nil},
		{"v1", "List", nil},
	}
	for _, tc := range cases {
		for _, pkg := range []string{fn, cfg, prov} {
			t.Run(tc.kind+"."+tc.apiVersion+"/"+pkg, func(t *testing.T) {
				fsys := e2e.Memory(t, map[string]string{
					"a.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: " + pkg + "\nmetadata: {name: p}\n",
					"b.yaml": "apiVersion: " + tc.apiVersion + "\nkind: " + tc.kind + "\nmetadata: {name: o}\n",
				})
				_, err := xpkg.Read(t.Context(), fsys, ".", xpkg.ReadOptions{Lint: xpkg.Off})
				want := strings.Contains(strings.Join(tc.in, " "), pkg)
				if got := err == nil; got != want {
					t.Errorf("allowed: got %v, want %v: %v", got, want, err)
				}
				if err != nil && !strings.Contains(err.Error(), "b.yaml:1: kind "+tc.kind+" of "+tc.apiVersion+" cannot be in a") {
					t.Errorf("the error does not name the object: %v", err)
				}
			})
		}
	}
}

func TestMetadataVersions(t *testing.T) {
	for name, want := range map[string]bool{
		"meta.pkg.crossplane.io/v1 Function":            true,
		"meta.pkg.crossplane.io/v1beta1 Function":       true,
		"meta.pkg.crossplane.io/v1alpha1 Function":      false,
		"meta.pkg.crossplane.io/v1 Configuration":       true,
		"meta.pkg.crossplane.io/v1alpha1 Configuration": true,
		"meta.pkg.crossplane.io/v1beta1 Configuration":  false,
		"meta.pkg.crossplane.io/v1 Provider":            true,
		"meta.pkg.crossplane.io/v1alpha1 Provider":      true,
		"meta.pkg.crossplane.io/v1 AddOn":               false,
		"pkg.crossplane.io/v1 Function":                 false,
	} {
		t.Run(name, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(name, " ")
			fsys := e2e.Memory(t, map[string]string{"a.yaml": "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: p}\n"})
			pkg, err := xpkg.Read(t.Context(), fsys, ".", xpkg.ReadOptions{})
			if got := err == nil; got != want {
				t.Fatalf("got %v, want %v: %v", got, want, err)
			}
			if err == nil && (pkg.Meta.Kind != kind || !strings.Contains(string(pkg.YAML), "apiVersion: "+apiVersion+"\n")) {
				t.Errorf("the metadata was converted: %+v", pkg.Meta)
			}
		})
	}
}
