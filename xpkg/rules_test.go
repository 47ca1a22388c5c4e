package xpkg_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/xpkg"
)

// found returns the problems of a package, each as "rule path:line".
func found(t *testing.T, files map[string]string) (all []string, ps xpkg.Problems) {
	t.Helper()
	_, err := xpkg.Read(t.Context(), memory(t, files), ".", xpkg.ReadOptions{ExamplesRoot: "examples", ExamplesOptional: true})
	if err != nil && !errors.As(err, &ps) {
		t.Fatal(err)
	}
	for _, p := range ps {
		all = append(all, fmt.Sprintf("%s %s:%d", p.Rule, filepath.ToSlash(p.Path), p.Line))
	}
	return all, ps
}

func metadata(kind, spec string) string {
	return "apiVersion: meta.pkg.crossplane.io/v1\nkind: " + kind + "\nmetadata: {name: p}\nspec:\n" + spec
}

// These have the line of the field that they are about.
func TestMetadataRules(t *testing.T) {
	const (
		digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
		good   = "  dependsOn:\n  - {function: registry.example.org/f, version: v1}\n"
	)
	cases := map[string]struct {
		reason, kind, spec string
		// want are rule and line; refused says that the control plane refuses it.
		want    string
		refused bool
	}{
		"Constraint":        {"a range is a constraint", "Function", "  crossplane:\n    version: '>=1.14.0, <3.0.0 || ~1.20'\n", "", false},
		"NoConstraint":      {"any version will do", "Function", "  crossplane: null\n", "", false},
		"BadConstraint":     {"words are no versions", "Function", "  crossplane:\n    version: '>=one.two'\n", "crossplane-version 6", true},
		"EmptyConstraint":   {"empty is not the same as any", "Function", "  crossplane:\n    version: ''\n", "crossplane-version 6", true},
		"MissingConstraint": {"nor is missing", "Function", "  crossplane: {}\n", "crossplane-version 5", true},

		"Dependencies":     {"each old form is one", "Configuration", good + "  - {provider: registry.example.org/p, version: '>=v0.1.0 <v2'}\n  - {configuration: 'localhost:5000/c', version: " + digest + "}\n", "", false},
		"Explicit":         {"the kind may be said", "Configuration", good + "  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/o/g, version: '*'}\n", "", false},
		"NoSource":         {"a version alone installs nothing", "Configuration", "  dependsOn:\n  - version: v1\n", "dependency-source 6", false},
		"PartOfSource":     {"nor does a package without its kind", "Configuration", "  dependsOn:\n  - {version: v1, apiVersion: a/v1, package: registry.example.org/a}\n", "dependency-source 6", false},
		"PartBesides":      {"what is there besides would not count", "Configuration", "  dependsOn:\n  - {version: v1, kind: A, function: registry.example.org/a}\n", "dependency-source 6", false},
		"TwoSources":       {"one of two would not be installed", "Configuration", "  dependsOn:\n  - {version: v1, provider: registry.example.org/a, function: registry.example.org/b}\n", "dependency-source 6", false},
		"NoRegistry":       {"v2 has no default registry", "Configuration", "  dependsOn:\n  - version: v1\n    function: owner/f\n", "dependency-package 7", false},
		"Tag":              {"the control plane adds the tag", "Configuration", "  dependsOn:\n  - {function: 'registry.example.org/f:v1', version: v1}\n", "dependency-package 6", false},
		"DigestInPackage":  {"and the digest", "Configuration", "  dependsOn:\n  - {function: 'registry.example.org/f@" + digest + "', version: v1}\n", "dependency-package 6", false},
		"BadPackage":       {"blanks are in no reference", "Configuration", "  dependsOn:\n  - {function: 'registry.example.org/a b', version: v1}\n", "dependency-package 6", false},
		"NoVersion":        {"there is no default version", "Configuration", "  dependsOn:\n  - function: registry.example.org/f\n", "dependency-version 6", false},
		"BadVersion":       {"latest is no version", "Configuration", "  dependsOn:\n  - function: registry.example.org/f\n    version: latest\n", "dependency-version 7", false},
		"ShortDigest":      {"a digest has 64 digits", "Configuration", "  dependsOn:\n  - {function: registry.example.org/f, version: 'sha256:00'}\n", "dependency-version 6", false},
		"TwoDependencies":  {"the same twice is one too many", "Configuration", good + "  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/f, version: v2}\n", "duplicate-dependency 7", false},
		"EmptyDependency":  {"null is no dependency", "Configuration", "  dependsOn:\n  - {}\n", "dependency-version 6, dependency-source 6", false},
		"Capabilities":     {"letters count, and others may mean something elsewhere", "Provider", "  capabilities: [SafeStart, acme.example.org/x]\n", "", false},
		"CapabilityTwice":  {"twice says nothing more", "Provider", "  capabilities:\n  - safe-start\n  - safe_start\n", "capability 7", false},
		"CapabilityEmpty":  {"nothing is no capability", "Provider", "  capabilities: ['-']\n", "capability 5", false},
		"Misspelt":         {"a swap is a misspelling", "Provider", "  capabilities: [safe-strat]\n", "capability 5", false},
		"Plural":           {"so is a letter too many", "Function", "  capabilities: [composition, operations]\n", "capability 5", false},
		"OfOtherKind":      {"other kinds have others", "Function", "  capabilities: [safe-strat]\n", "", false},
		"LeadingLetter":    {"or too few", "Function", "  capabilities: [omposition]\n", "capability 5", false},
		"ChangedLetter":    {"or changed", "Function", "  capabilities: [compocition]\n", "capability 5", false},
		"TwoLettersOf":     {"but not just anything", "Function", "  capabilities: [compensation]\n", "", false},
		"CapabilityNumber": {"numbers may name one", "Function", "  capabilities: ['2']\n", "", false},
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

// definition returns a CRD or the like, with a schema in flow style.
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
	composition := "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: NAME}\nspec:\n  compositeTypeRef: {apiVersion: gold.test/v1, kind: Widget}\n  mode: Pipeline\n"
	cases := map[string]struct {
		reason, kind string
		objects      map[string]string
		want         []string
	}{
		"CRD":         {"a CRD has its plural's and group's name", "Provider", map[string]string{"a.yaml": widgetCRD(any)}, nil},
		"CRDName":     {"and no other", "Provider", map[string]string{"a.yaml": strings.Replace(widgetCRD(any), "name: widgets.", "name: widget.", 1)}, []string{"object-name a.yaml:4"}},
		"MRDName":     {"nor has an MRD", "Provider", map[string]string{"a.yaml": definition("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "a", widget, any)}, []string{"object-name a.yaml:4"}},
		"XRDName":     {"nor an XRD", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, "name: widgets.", "name: x", 1)}, []string{"object-name a.yaml:4"}},
		"NoName":      {"objects have names", "Configuration", map[string]string{"a.yaml": strings.Replace(composition, "NAME", "", 1)}, []string{"object-name a.yaml:3"}},
		"BadName":     {"that Kubernetes takes", "Configuration", map[string]string{"a.yaml": strings.Replace(composition, "NAME", "A_b", 1)}, []string{"object-name a.yaml:3"}},
		"Dots":        {"with dots, too", "Configuration", map[string]string{"a.yaml": strings.Replace(composition, "NAME", "a.b-c", 1)}, nil},
		"Twice":       {"one would replace the other", "Provider", map[string]string{"a.yaml": widgetCRD(any), "b/c.yaml": "---\n" + widgetCRD(any)}, []string{"duplicate-object b/c.yaml:5"}},
		"OtherKind":   {"two kinds may share a name", "Provider", map[string]string{"a.yaml": widgetCRD(any), "b.yaml": definition("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "widgets.gold.test", widget, any)}, nil},
		"Beta":        {"v1beta1 cannot be installed", "Provider", map[string]string{"a.yaml": strings.Replace(widgetCRD(any), "/v1", "/v1beta1", 1)}, []string{"removed-api a.yaml:1"}},
		"Schema":      {"a schema has types", "Provider", map[string]string{"a.yaml": widgetCRD("\n        type: object\n        properties:\n          spec:\n            description: x")}, []string{"schema a.yaml:17"}},
		"XRDSchema":   {"so has that of an XRD", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "{properties: {spec: {properties: {a: {type: text}}}}}", 1)}, []string{"schema a.yaml:14"}},
		"XRDNoType":   {"whose root Crossplane makes itself", "Configuration", map[string]string{"a.yaml": strings.Replace(xrd, any, "{properties: {spec: {properties: {a: {type: string}}}}}", 1)}, nil},
		"NoSchema":    {"a version has a schema", "Provider", map[string]string{"a.yaml": strings.Replace(widgetCRD(""), "      openAPIV3Schema: \n", "", 1)}, []string{"schema a.yaml:13"}},
		"DefaultType": {"a default fits", "Provider", map[string]string{"a.yaml": widgetCRD("{type: object, properties: {spec: {type: string, default: 1}}}")}, []string{"schema a.yaml:14"}},
		"Rule":        {"a CEL rule compiles", "Provider", map[string]string{"a.yaml": widgetCRD("{type: object, x-kubernetes-validations: [{rule: 'self.x'}]}")}, []string{"schema a.yaml:14"}},
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
	cases := map[string]struct {
		reason, spec, crd, example string
		want                       []string
	}{
		"Good":         {"it fits", "", "", one + "size: 1", nil},
		"Type":         {"the field is named", "", "", one + "size: many", []string{"example examples/a.yaml:5"}},
		"Unknown":      {"so is one that would be lost", "", "", one + "size: 1\n  sise: 2", []string{"example examples/a.yaml:6"}},
		"Required":     {"a missing one has the line around it", "", "", one + "unit: m", []string{"example examples/a.yaml:4"}},
		"Enum":         {"values count", "", "", one + "size: 1\n  unit: ft", []string{"example examples/a.yaml:6"}},
		"CEL":          {"and rules", "", "", one + "size: 0", []string{"example examples/a.yaml:4"}},
		"Second":       {"each document of a file counts", "", "", one + "size: 1\n---\n" + one + "size: many", []string{"example examples/a.yaml:11"}},
		"Version":      {"a version must be there", "", "", strings.Replace(one, "v1", "v2", 1) + "size: 1", []string{"example examples/a.yaml:1"}},
		"NotServed":    {"and served", "", other, "apiVersion: gold.test/v1\nkind: Widget\n", []string{"example examples/a.yaml:1"}},
		"Kind":         {"a kind of a group that is all here is known", "", "", "apiVersion: gold.test/v1\nkind: Gadget\n", []string{"example examples/a.yaml:2"}},
		"Dependency":   {"a group may be another package's, too", deps, "", "apiVersion: gold.test/v1\nkind: Gadget\n", nil},
		"Others":       {"Secrets and the like are not for us to judge", "", "", "apiVersion: v1\nkind: Secret\ndata: 1\n---\napiVersion: other.test/v1\nkind: Widget\nspec: 1\n", nil},
		"Status":       {"the API server drops it at creation", "", "", one + "size: 1\nstatus: {ready: 1}", nil},
		"Metadata":     {"YAML 1.1 has many booleans", "", "", strings.Replace(one, "name: w", "name: w, namespace: y", 1) + "size: 1", []string{"example examples/a.yaml:3"}},
		"Placeholder":  {"what is filled in later may be anything", "", "", one + "size: 1\n  unit: ${data.unit}", nil},
		"Input":        {"an input is an object, too", "", "", pipeline(step("p", "spec: {size: many}")), []string{"example examples/a.yaml:11"}},
		"InputGood":    {"it needs no name", "", "", pipeline(step("p", "spec: {size: 1}")), nil},
		"InputServed":  {"no API server serves inputs", "", other, pipeline(step("p", "metadata: {}")), nil},
		"InputVersion": {"but the version is known", "", "", pipeline(strings.Replace(step("p", "metadata: {}"), "v1", "v3", 1)), []string{"example examples/a.yaml:9"}},
		"InputOther":   {"an input of another function may have the same kind", "", "", pipeline(step("x", "spec: {text: 1}"), step("owner-p", "spec: {size: 1}")), nil},
		"InputUnknown": {"unless no step is ours by its name", "", "", pipeline(step("x", "spec: {text: 1}")), []string{"example examples/a.yaml:11", "example examples/a.yaml:11"}},
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

// A claim is an example of an XRD, too.
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
