package xpkg_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// found returns the problems of a package, each as "rule path:line".
func found(t *testing.T, files map[string]string) (all []string, ps xpkg.Problems) {
	t.Helper()
	pkg, err := xpkg.Read(t.Context(), e2e.Memory(t, files), ".", xpkg.ReadOptions{ExamplesRoot: "examples", ExamplesOptional: true})
	if err != nil && !errors.As(err, &ps) {
		t.Fatal(err)
	}
	if err == nil {
		ps = pkg.Warnings
	}
	for _, p := range ps {
		all = append(all, fmt.Sprintf("%s %s:%d", p.Rule, filepath.ToSlash(p.Path), p.Line))
	}
	return all, ps
}

func metadata(kind, spec string) string {
	return "apiVersion: meta.pkg.crossplane.io/v1\nkind: " + kind + "\nmetadata: {name: p}\nspec:\n" + spec
}

// A problem of the metadata has the line of its field.
func TestMetadataRules(t *testing.T) {
	const (
		digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
		good   = "  dependsOn:\n  - {function: registry.example.org/f, version: v1}\n"
	)
	cases := map[string]struct {
		reason, kind, spec string
		// want are rules and lines; refused means that the control
		// plane refuses the package.
		want    string
		refused bool
	}{
		"Constraint":        {"a version constraint may combine ranges", "Function", "  crossplane:\n    version: '>=1.14.0, <3.0.0 || ~1.20'\n", "", false},
		"NoConstraint":      {"an absent constraint is valid", "Function", "  crossplane: null\n", "", false},
		"ExactConstraint":   {"a constraint of one release is reported", "Function", "  crossplane:\n    version: v2.0.0\n", "crossplane-version 6", false},
		"PartConstraint":    {"a part of a version is a range", "Function", "  crossplane:\n    version: v2.0\n", "", false},
		"BadConstraint":     {"a constraint without version numbers is refused", "Function", "  crossplane:\n    version: '>=one.two'\n", "crossplane-version 6", true},
		"Unsatisfiable":     {"a constraint that no release satisfies is refused", "Function", "  crossplane:\n    version: '>=v2.0.0 <v1.0.0'\n", "crossplane-version 6", true},
		"EmptyConstraint":   {"an empty constraint is refused", "Function", "  crossplane:\n    version: ''\n", "crossplane-version 6", true},
		"MissingConstraint": {"spec.crossplane without a constraint is refused", "Function", "  crossplane: {}\n", "crossplane-version 5", true},

		"Dependencies":     {"the older fields for dependencies are valid", "Configuration", good + "  - {provider: registry.example.org/p, version: '>=v0.1.0 <v2'}\n  - {configuration: 'localhost:5000/c', version: " + digest + "}\n", "", false},
		"Explicit":         {"a dependency by apiVersion, kind and package is valid", "Configuration", good + "  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/o/g, version: '*'}\n", "", false},
		"NoSource":         {"a dependency without a package is reported", "Configuration", "  dependsOn:\n  - version: v1\n", "dependency-source 6", false},
		"PartOfSource":     {"a dependency by package requires a kind", "Configuration", "  dependsOn:\n  - {version: v1, apiVersion: a/v1, package: registry.example.org/a}\n", "dependency-source 6", false},
		"PartBesides":      {"kind beside a function field is reported, as it is ignored", "Configuration", "  dependsOn:\n  - {version: v1, kind: A, function: registry.example.org/a}\n", "dependency-source 6", false},
		"TwoSources":       {"a dependency that names two packages is reported", "Configuration", "  dependsOn:\n  - {version: v1, provider: registry.example.org/a, function: registry.example.org/b}\n", "dependency-source 6", false},
		"NoRegistry":       {"a dependency requires a registry, as v2 has no default one", "Configuration", "  dependsOn:\n  - version: v1\n    function: owner/f\n", "dependency-package 7", false},
		"Tag":              {"a dependency with a tag in its name is reported", "Configuration", "  dependsOn:\n  - {function: 'registry.example.org/f:v1', version: v1}\n", "dependency-package 6", false},
		"DigestInPackage":  {"a dependency with a digest in its name is reported", "Configuration", "  dependsOn:\n  - {function: 'registry.example.org/f@" + digest + "', version: v1}\n", "dependency-package 6", false},
		"BadPackage":       {"a dependency that is not an OCI reference is reported", "Configuration", "  dependsOn:\n  - {function: 'registry.example.org/a b', version: v1}\n", "dependency-package 6", false},
		"NoVersion":        {"a dependency requires a version", "Configuration", "  dependsOn:\n  - function: registry.example.org/f\n", "dependency-version 6", false},
		"BadVersion":       {"latest is not a version constraint", "Configuration", "  dependsOn:\n  - function: registry.example.org/f\n    version: latest\n", "dependency-version 7", false},
		"NoRelease":        {"a range without a release is reported", "Configuration", "  dependsOn:\n  - function: registry.example.org/f\n    version: '>=v0.5.0 <v0.4.0'\n", "dependency-version 7", false},
		"OneRelease":       {"a range of one release is valid", "Configuration", "  dependsOn:\n  - {function: registry.example.org/f, version: '>v0.5.0 <=v0.5.1 || >2 !=3.x <5'}\n", "", false},
		"ManyReleases":     {"ranges are satisfied by releases that they do not name", "Configuration", "  dependsOn:\n  - {function: registry.example.org/f, version: '<1, !=0.0.x'}\n  - {function: registry.example.org/g, version: '~1.2 !=1.2.0'}\n  - {function: registry.example.org/h, version: '>v1.0.0-rc.0 <v1.0.0'}\n", "", false},
		"ShortDigest":      {"a digest requires 64 hex digits", "Configuration", "  dependsOn:\n  - {function: registry.example.org/f, version: 'sha256:00'}\n", "dependency-version 6", false},
		"TwoDependencies":  {"two dependencies on the same package are reported", "Configuration", good + "  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/f, version: v2}\n", "duplicate-dependency 7", false},
		"EmptyDependency":  {"an empty dependency is reported", "Configuration", "  dependsOn:\n  - {}\n", "dependency-version 6, dependency-source 6", false},
		"KindMisspelt":     {"a dependency of a misspelled kind is reported", "Configuration", "  dependsOn:\n  - apiVersion: pkg.crossplane.io/v1\n    kind: Funktion\n    package: registry.example.org/f\n    version: v1\n", "dependency-kind 7", false},
		"KindRevision":     {"a dependency of another kind of the group is reported", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: FunctionRevision, package: registry.example.org/f, version: v1}\n", "dependency-kind 6", false},
		"KindOfMetadata":   {"the API group of package metadata is reported", "Configuration", "  dependsOn:\n  - {apiVersion: meta.pkg.crossplane.io/v1, kind: Function, package: registry.example.org/f, version: v1}\n", "dependency-kind 6", false},
		"KindWithoutGroup": {"an apiVersion without a group has no kind of package", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.crossplane.io, kind: Function, package: registry.example.org/f, version: v1}\n", "dependency-kind 6", false},
		"KindNotServed":    {"a version that Crossplane does not serve is reported", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1beta1, kind: Provider, package: registry.example.org/p, version: v1}\n", "dependency-kind 6", false},
		"KindServed":       {"a version that Crossplane serves is valid", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1beta1, kind: Function, package: registry.example.org/f, version: v1}\n", "", false},
		"KindOtherGroup":   {"a kind of another API group is valid, because a control plane may have it", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.example.org/v1, kind: Extension, package: registry.example.org/e, version: v1}\n", "", false},
		"KindOfProject":    {"the package of a function in a project is named after the project", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/o/configuration-c_f, version: v1}\n", "", false},
		"KindAgainstName":  {"a kind that differs from the name of the package is a warning", "Configuration", "  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org/o/function-f, version: v1}\n", "dependency-kind 6", false},
		"Capabilities":     {"capabilities are matched without case, and unknown ones are accepted", "Provider", "  capabilities: [SafeStart, acme.example.org/x]\n", "", false},
		"CapabilityTwice":  {"a capability that occurs twice is reported", "Provider", "  capabilities:\n  - safe-start\n  - safe_start\n", "capability 7", false},
		"CapabilityEmpty":  {"a capability without letters or digits is reported", "Provider", "  capabilities: ['-']\n", "capability 5", false},
		"Misspelt":         {"a capability with two letters swapped is reported", "Provider", "  capabilities: [safe-strat]\n", "capability 5", false},
		"Plural":           {"a capability with one letter too many is reported", "Function", "  capabilities: [composition, operations]\n", "capability 5", false},
		"OfOtherKind":      {"typos are searched only among this kind's capabilities", "Function", "  capabilities: [composition, safe-strat]\n", "", false},
		"LeadingLetter":    {"a capability with one letter missing is reported", "Function", "  capabilities: [omposition]\n", "capability 5", false},
		"ChangedLetter":    {"a capability with one letter changed is reported", "Function", "  capabilities: [compocition]\n", "capability 5", false},
		"TwoLettersOf":     {"an unknown capability with two letters changed is accepted", "Function", "  capabilities: [compensation, composition]\n", "", false},
		"NotComposition":   {"a function without the capability composition is reported", "Function", "  capabilities: [compensation]\n", "capability 5", false},
		"OnlyOperation":    {"a function for operations only is reported", "Function", "  capabilities: [operation]\n", "capability 5", false},
		"FoldedCapability": {"the capability composition is matched without case", "Function", "  capabilities: [Composition_]\n", "", false},
		"CapabilityNumber": {"a capability may be a number", "Function", "  capabilities: ['2', composition]\n", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ps := found(t, map[string]string{"crossplane.yaml": metadata(tc.kind, tc.spec)})
			if text := strings.ReplaceAll(strings.Join(got, ", "), "crossplane.yaml:", ""); text != tc.want {
				t.Errorf("%s: got %q, want %q: %v", tc.reason, text, tc.want, ps)
			}
			if len(ps) > 0 && ps[0].Refused != tc.refused {
				t.Errorf("%s: refused: got %v", tc.reason, ps[0].Refused)
			}
		})
	}
}

// definition returns a CRD, XRD or MRD with a schema in flow style.
func definition(apiVersion, kind, name, names, schema string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\nspec:\n  group: gold.test\n  scope: Namespaced\n  " + names +
		"\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: " + schema + "\n"
}

const (
	crdV1  = "apiextensions.k8s.io/v1"
	widget = "names: {kind: Widget, plural: widgets}"
)

func widgetCRD(schema string) string {
	return definition(crdV1, "CustomResourceDefinition", "widgets.gold.test", widget, schema)
}

func TestObjectRules(t *testing.T) {
	const any = "{type: object}"
	xrd := strings.ReplaceAll(definition("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "widgets.gold.test", widget, any), "storage", "referenceable")
	composition := "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: NAME}\nspec:\n  compositeTypeRef: {apiVersion: gold.test/v1, kind: Widget}\n  mode: Pipeline\n  pipeline: [{step: a, functionRef: {name: f}}]\n"
	cases := map[string]struct {
		reason, kind string
		objects      map[string]string
		want         []string
	}{
		"CRD":         {"a CRD named after its plural and group is valid", "Provider", map[string]string{"a.yaml": widgetCRD(any)}, nil},
		"CRDName":     {"a CRD with another name is reported", "Provider", map[string]string{"a.yaml": strings.Replace(widgetCRD(any), "name: widgets.", "name: widget.", 1)}, []string{"object-name a.yaml:4"}},
		"MRDName":     {"an MRD with another name than its plural and group is reported", "Provider", map[string]string{"a.yaml": definition("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "a", widget, any)}, []string{"object-name a.yaml:4"}},
		"XRDName":     {"an XRD with another name than its plural and group is reported", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, "name: widgets.", "name: x", 1)}, []string{"object-name a.yaml:4"}},
		"NoName":      {"an object without a name is reported", "Configuration", map[string]string{"a.yaml": strings.Replace(composition, "NAME", "", 1)}, []string{"object-name a.yaml:3"}},
		"BadName":     {"a name that Kubernetes refuses is reported", "Configuration", map[string]string{"a.yaml": strings.Replace(composition, "NAME", "A_b", 1)}, []string{"object-name a.yaml:3"}},
		"Dots":        {"a name may contain dots", "Configuration", map[string]string{"a.yaml": strings.Replace(composition, "NAME", "a.b-c", 1)}, nil},
		"Twice":       {"two objects of the same kind and name are reported", "Provider", map[string]string{"a.yaml": widgetCRD(any), "b/c.yaml": "---\n" + widgetCRD(any)}, []string{"duplicate-object b/c.yaml:5"}},
		"OtherKind":   {"objects of two kinds may share a name", "Provider", map[string]string{"a.yaml": widgetCRD(any), "b.yaml": definition("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "widgets.gold.test", widget, any)}, nil},
		"Beta":        {"a v1beta1 CRD is reported", "Provider", map[string]string{"a.yaml": strings.Replace(widgetCRD(any), "/v1", "/v1beta1", 1)}, []string{"removed-api a.yaml:1"}},
		"Schema":      {"a schema property without a type is reported", "Provider", map[string]string{"a.yaml": widgetCRD("\n        type: object\n        properties:\n          spec:\n            description: x")}, []string{"schema a.yaml:17"}},
		"XRDSchema":   {"an XRD's schema with an invalid type is reported", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "{properties: {spec: {properties: {a: {type: text}}}}}", 1)}, []string{"schema a.yaml:14"}},
		"XRDMinimum":  {"a keyword of the wrong type is reported at its line", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              a:\n                type: integer\n                minimum: one", 1)}, []string{"schema a.yaml:22"}},
		"XRDKeyword":  {"an unknown keyword is reported at its line", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "\n        type: object\n        propertis:\n          spec: {type: object}", 1)}, []string{"unknown-field a.yaml:16"}},
		"XRDRequired": {"a required field that is not declared is reported at its line", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "\n        type: object\n        properties:\n          spec:\n            type: object\n            required: [regoin]\n            properties: {region: {type: string}}", 1)}, []string{"schema a.yaml:19"}},
		"XRDColumn":   {"a printer column of a field that is not declared is reported at its line", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, "    schema:", "    additionalPrinterColumns:\n    - {name: A, type: string, jsonPath: .spec.a}\n    schema:", 1)}, []string{"schema a.yaml:14"}},
		"XRDNoType":   {"an XRD's root schema may omit its type", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "{properties: {spec: {properties: {a: {type: string}}}}}", 1)}, nil},
		"NoSchema":    {"a version without a schema is reported", "Provider", map[string]string{"a.yaml": strings.Replace(widgetCRD(""), "      openAPIV3Schema: \n", "", 1)}, []string{"schema a.yaml:13"}},
		"DefaultType": {"a default of the wrong type is reported", "Provider", map[string]string{"a.yaml": widgetCRD("{type: object, properties: {spec: {type: string, default: 1}}}")}, []string{"schema a.yaml:14"}},
		"Rule":        {"a CEL rule that does not compile is reported", "Provider", map[string]string{"a.yaml": widgetCRD("{type: object, x-kubernetes-validations: [{rule: 'self.x'}]}")}, []string{"schema a.yaml:14"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.objects["crossplane.yaml"] = metadata(tc.kind, "  capabilities: []\n")
			got, ps := found(t, tc.objects)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s%v", tc.reason, diff, ps)
			}
		})
	}
}

// TestRemovedFields tests a legacy Composition, whose fields only packages for Crossplane v2
// must not have.
func TestRemovedFields(t *testing.T) {
	const composition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: gold.test/v1, kind: Widget}\n  resources: [{name: a}]\n  patchSets: []\n"
	for constraint, warning := range map[string]bool{
		"": true, ">=v1.14.0-0": true, "=1.20.1": true, ">=v1.0.0 <v3": true, ">=v2.0.0-0": false, "^2.1": false, ">1.20.99": false,
	} {
		spec := "  capabilities: []\n"
		if constraint != "" {
			spec += "  crossplane: {version: '" + constraint + "'}\n"
		}
		got, ps := found(t, map[string]string{"crossplane.yaml": metadata("Configuration", spec), "a.yaml": composition})
		want := []string{"unknown-field a.yaml:6"}
		if !warning { // Without the removed fields, Crossplane v2 refuses the Composition.
			want = []string{"object a.yaml:4", "unknown-field a.yaml:6"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s%v", constraint, diff, ps)
		}
		e2e.Equal(t, fmt.Sprintf("%q: the constraint decides whether the problem is a warning", constraint), warning, ps[len(ps)-1].Warning)
	}
}

// TestRemovedFieldHints tests that the hint names a command that converts the Composition.
func TestRemovedFieldHints(t *testing.T) {
	for spec, want := range map[string]string{
		"mode: Pipeline, environment: {policy: {resolution: Required}}, pipeline: [{step: a, functionRef: {name: f}}]": "composition-environment",
		"environment: {policy: {resolution: Required}}, pipeline: [{step: a, functionRef: {name: f}}]":                 "composition-environment",
		"mode: Resources, environment: {policy: {resolution: Required}}, resources: [{name: a}]":                       "pipeline-composition",
		"mode: Pipeline, patchSets: [{name: a}], pipeline: [{step: a, functionRef: {name: f}}]":                        "remove the field",
	} {
		composition := "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec: {compositeTypeRef: {apiVersion: gold.test/v1, kind: Widget}, " + spec + "}\n"
		_, ps := found(t, map[string]string{"crossplane.yaml": metadata("Configuration", "  capabilities: []\n"), "a.yaml": composition})
		if i := slices.IndexFunc(ps, func(p xpkg.Problem) bool { return p.Rule == "unknown-field" }); i < 0 || !strings.Contains(ps[i].Hint, want) {
			t.Errorf("%s: want a hint with %q, got %v", spec, want, ps)
		}
	}
}

func TestPackageName(t *testing.T) {
	for name, want := range map[string][]string{
		"{name: a.b-c}":   nil,
		"{}":              {"metadata-name crossplane.yaml:3"},
		"{name: Foo_Bar}": {"metadata-name crossplane.yaml:3"},
		"{name: " + strings.Repeat("a", 254) + "}":   {"metadata-name crossplane.yaml:3"},
		"{name: " + strings.Repeat("ab.", 84) + "c}": nil,
	} {
		got, ps := found(t, map[string]string{"crossplane.yaml": strings.Replace(metadata("Function", "  capabilities: []\n"), "{name: p}", name, 1)})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.20s (-want +got):\n%s%v", name, diff, ps)
		}
	}
}

func TestExampleRule(t *testing.T) {
	const (
		schema = `{type: object, properties: {spec: {type: object, required: [size], properties: {size: {type: integer}, unit: {type: string, enum: [m]}},
        x-kubernetes-validations: [{rule: "self.size > 0"}]}}}`
		one = "apiVersion: gold.test/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  "
	)
	step := func(function, input string) string {
		return "  - step: a\n    functionRef: {name: " + function + "}\n    input:\n      apiVersion: gold.test/v1\n      kind: Widget\n      " + input + "\n"
	}
	pipeline := func(steps ...string) string {
		return "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  pipeline:\n" + strings.Join(steps, "")
	}
	other := strings.Replace(widgetCRD("{type: object}"), "served: true", "served: false", 1)
	deps := "  dependsOn: [{provider: registry.example.org/p, version: v1}]\n"
	functions := "  dependsOn: [{function: registry.example.org/f, version: v1}, {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/g, version: v1}]\n"
	cases := map[string]struct {
		reason, spec, crd, example string
		want                       []string
	}{
		"Good":         {"an example that the schema allows is valid", "", "", one + "size: 1", nil},
		"Type":         {"a value of the wrong type is reported at its field", "", "", one + "size: many", []string{"example examples/a.yaml:5"}},
		"Unknown":      {"an unknown field is reported", "", "", one + "size: 1\n  sise: 2", []string{"example examples/a.yaml:6"}},
		"Required":     {"a missing field is reported at its parent", "", "", one + "unit: m", []string{"example examples/a.yaml:4"}},
		"Enum":         {"a value that the enum lacks is reported", "", "", one + "size: 1\n  unit: ft", []string{"example examples/a.yaml:6"}},
		"CEL":          {"a value that violates a CEL rule is reported", "", "", one + "size: 0", []string{"example examples/a.yaml:4"}},
		"Second":       {"all documents of a file are validated", "", "", one + "size: 1\n---\n" + one + "size: many", []string{"example examples/a.yaml:11"}},
		"Version":      {"a version that the CRD lacks is reported", "", "", strings.Replace(one, "v1", "v2", 1) + "size: 1", []string{"example examples/a.yaml:1"}},
		"NotServed":    {"a version that is not served is reported", "", other, "apiVersion: gold.test/v1\nkind: Widget\n", []string{"example examples/a.yaml:1"}},
		"Kind":         {"an unknown kind of a group that the package defines is reported", "", "", "apiVersion: gold.test/v1\nkind: Gadget\n", []string{"example examples/a.yaml:2"}},
		"Dependency":   {"an unknown kind is accepted if a dependency may define it", deps, "", "apiVersion: gold.test/v1\nkind: Gadget\n", nil},
		"Functions":    {"a misspelled kind is reported if only functions are dependencies", functions, "", strings.Replace(one, "Widget", "Widgt", 1) + "size: 1", []string{"example examples/a.yaml:2"}},
		"OtherKind":    {"another kind is accepted beside dependencies, because another package may define it", functions, "", "apiVersion: gold.test/v1\nkind: Gadget\n", nil},
		"Misspelled":   {"a similar kind is accepted if a dependency may define it", deps, "", strings.Replace(one, "Widget", "Widgt", 1), nil},
		"NoAPIVersion": {"a kind of the package without an apiVersion is reported", "", "", strings.Replace(one, "apiVersion", "apiversion", 1) + "size: 1", []string{"example examples/a.yaml:1"}},
		"Kustomize":    {"a file of another tool needs no apiVersion", "", "", "kind: Kustomization\nresources: [w.yaml]\n", nil},
		"Others":       {"kinds of other groups are not validated", "", "", "apiVersion: v1\nkind: Secret\ndata: 1\n---\napiVersion: other.test/v1\nkind: Widget\nspec: 1\n", nil},
		"Status":       {"status is not validated, as the API server drops it at creation", "", "", one + "size: 1\nstatus: {ready: 1}", nil},
		"Metadata":     {"a YAML 1.1 boolean as a namespace is reported", "", "", strings.Replace(one, "name: w", "name: w, namespace: y", 1) + "size: 1", []string{"example examples/a.yaml:3"}},
		"Placeholder":  {"a placeholder is accepted for any value", "", "", one + "size: 1\n  unit: ${data.unit}", nil},
		"Input":        {"the input of a pipeline step is validated", "", "", pipeline(step("p", "spec: {size: many}")), []string{"example examples/a.yaml:11"}},
		"InputGood":    {"an input does not require a name", "", "", pipeline(step("p", "spec: {size: 1}")), nil},
		"InputMeta":    {"an input needs no metadata, even if the schema requires it", "", widgetCRD("{type: object, required: [metadata], properties: {spec: {type: object}}}"), pipeline(step("p", "spec: {}")), nil},
		"InputServed":  {"an input's version need not be served", "", other, pipeline(step("p", "metadata: {}")), nil},
		"InputVersion": {"an input of an unknown version is reported", "", "", pipeline(strings.Replace(step("p", "metadata: {}"), "v1", "v3", 1)), []string{"example examples/a.yaml:9"}},
		"InputOther":   {"the input of another function's step is not validated", "", "", pipeline(step("x", "spec: {text: 1}"), step("owner-p", "spec: {size: 1}")), nil},
		"InputUnknown": {"all inputs are validated if no step names this function", "", "", pipeline(step("x", "spec: {text: 1}")), []string{"example examples/a.yaml:11", "example examples/a.yaml:11"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crd := tc.crd
			if crd == "" {
				crd = widgetCRD(schema)
			}
			got, ps := found(t, map[string]string{"crossplane.yaml": metadata("Function", tc.spec+"  capabilities: []\n"), "crd.yaml": crd, "examples/a.yaml": tc.example})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s%v", tc.reason, diff, ps)
			}
		})
	}
}

// An example is validated by the XRD beside it if the package has none for its kind.
func TestExampleBesides(t *testing.T) {
	xrd := strings.Replace(definition("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "widgets.gold.test",
		"names: {kind: Widget, plural: widgets}", "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}"), "storage", "referenceable", 1)
	other := strings.Replace(xrd, "size", "sise", 1)
	xr := "apiVersion: gold.test/v1\nkind: Widget\nmetadata: {name: w, namespace: d}\nspec:\n  sise: 1\n"
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		want   []string
	}{
		"Beside": {"a field that the XRD beside the example does not have is reported", map[string]string{"examples/xrd.yaml": xrd}, []string{"example examples/xr.yaml:5"}},
		"Other":  {"the XRD in another directory may be of another example", map[string]string{"examples/other/xrd.yaml": xrd}, nil},
		"Two":    {"one of two XRDs beside the example may be meant", map[string]string{"examples/xrd.yaml": xrd, "examples/xrd2.yaml": other}, nil},
	} {
		tc.files["crossplane.yaml"], tc.files["examples/xr.yaml"] = metadata("Function", "  capabilities: []\n"), xr
		got, ps := found(t, tc.files)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s%v", name, tc.reason, diff, ps)
		}
	}
}

// A claim is validated as an example of its XRD.
func TestExampleClaim(t *testing.T) {
	xrd := definition("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", "xwidgets.gold.test",
		"names: {kind: XWidget, plural: xwidgets}\n  claimNames: {kind: Widget, plural: widgets}", "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}")
	xrd = strings.Replace(strings.Replace(xrd, "storage", "referenceable", 1), "  scope: Namespaced\n", "", 1)
	claim := "apiVersion: gold.test/v1\nkind: Widget\nmetadata: {name: w, namespace: d}\nspec:\n  compositionRef: {name: x}\n  size: "
	for size, want := range map[string][]string{"1": nil, "x": {"example examples/a.yaml:6"}} {
		got, ps := found(t, map[string]string{"crossplane.yaml": metadata("Configuration", "  capabilities: []\n"), "xrd.yaml": xrd, "examples/a.yaml": claim + size})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("size %s (-want +got):\n%s%v", size, diff, ps)
		}
	}
}
