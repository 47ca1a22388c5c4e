package xpkg_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"

	command "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// TestClusterRoles checks for which composed kinds a package root needs a ClusterRole.
func TestClusterRoles(t *testing.T) {
	t.Parallel()
	base := func(base string) string {
		return strings.Replace(widgets, "{apiVersion: other.test/v1, kind: Bucket, spec: {any: 1}}", base, 1)
	}
	const (
		namespace = "{apiVersion: v1, kind: Namespace}"
		missing   = "c.yaml:15: Crossplane may not compose Namespace of v1 without a ClusterRole that aggregates to its own"
		other     = "c.yaml:15: Crossplane may not compose Bucket of other.test/v1 without a ClusterRole that aggregates to its own"
		role      = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widgets, labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}}
rules: [{apiGroups: [""], resources: [namespaces], verbs: ["*"]}, {apiGroups: [other.test], resources: [pails], verbs: ["*"]}]
`
		crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pails.other.test}
spec:
  group: other.test
  names: {kind: Bucket, plural: pails}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	)
	for name, tc := range map[string]struct {
		reason, composition, dependencies string
		files                             map[string]string
		want                              []string
	}{
		"Missing":   {"a kind of Kubernetes that Crossplane's chart does not grant", base(namespace), "", nil, []string{missing}},
		"Twice":     {"each kind of a Composition is reported once", base(namespace) + "      - {name: b, base: " + namespace + "}\n", "", nil, []string{missing}},
		"Granted":   {"Crossplane's chart grants Deployments", base("{apiVersion: apps/v1, kind: Deployment}"), "", nil, nil},
		"Composite": {"the package has the XRD", base("{apiVersion: gold.test/v1, kind: XWidget}"), "", nil, nil},
		"Managed":   {"spec.forProvider makes a managed resource", base("{apiVersion: other.test/v1, kind: Bucket, spec: {forProvider: {}}}"), "", nil, nil},
		"Official":  {"a kind of an official provider may have no spec.forProvider", base("{apiVersion: s3.aws.upbound.io/v1beta1, kind: BucketVersioning}"), "", nil, nil},
		"Patched":   {"a patch of spec.forProvider makes a managed resource", strings.Replace(widgets, "toFieldPath: spec.size", "toFieldPath: spec.forProvider.size", 1), "", nil, nil},
		"Other":     {"no other package can define the kind", widgets, "[{function: example.org/f, version: v1}]", nil, []string{other}},
		"Provider":  {"the provider may define the kind", widgets, "[{provider: example.org/p, version: v1}]", nil, nil},
		"Certain":   {"a provider does not define kinds of Kubernetes", base(namespace), "[{apiVersion: pkg.crossplane.io/v1, kind: Configuration, package: example.org/p, version: v1}]", nil, []string{missing}},
		"Role":      {"a ClusterRole of the examples grants the kind", base(namespace), "", map[string]string{"examples/rbac/role.yaml": role}, nil},
		"Beside":    {"a ClusterRole beside the package grants the kind", base(namespace), "", map[string]string{"root/role.yaml": role}, nil},
		"Label":     {"a ClusterRole without the label does not aggregate", base(namespace), "", map[string]string{"root/role.yaml": strings.Replace(role, "rbac.crossplane.io/aggregate-to-crossplane", "a", 1)}, []string{missing}},
		"Plural":    {"a CRD among the examples has the plural name", widgets, "", map[string]string{"examples/role.yaml": role, "examples/crd.yaml": crd}, nil},
		"Guess":     {"without a CRD, the plural name is derived from the kind", widgets, "", map[string]string{"examples/role.yaml": role}, []string{other}},
		"Broken":    {"a file that cannot be read grants nothing", base(namespace), "", map[string]string{"examples/a.yaml": "a: ["}, []string{missing}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"root/crossplane.yaml": meta, "root/xrd.yaml": compositionXRD, "root/c.yaml": tc.composition}
			if tc.dependencies != "" {
				files["root/crossplane.yaml"] += "spec: {dependsOn: " + tc.dependencies + "}\n"
			}
			maps.Copy(files, tc.files)
			for name, text := range files {
				path := filepath.Join(dir, name)
				e2e.WriteFile(t, path, text)
			}
			root := filepath.Join(dir, "root")
			rule := command.LintClusterRoles([]string{root, filepath.Join(dir, "examples"), filepath.Join(dir, "none")}, false)
			pkg := e2e.Must(xpkg.Read(t.Context(), afero.NewOsFs(), root, xpkg.ReadOptions{Lint: xpkg.Warn, Ignore: []string{"role.yaml"}, Rules: []xpkg.Rule{rule}}))(t)
			var got []string
			for _, p := range pkg.Warnings {
				if p.Rule == "cluster-role" && p.Warning && !p.Refused {
					got = append(got, fmt.Sprintf("%s:%d: %s", filepath.Base(p.Path), p.Line, p.Text))
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
