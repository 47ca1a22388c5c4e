package validate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

var checked = check.ForValidation(check.Options{Inputs: builtin.Inputs()})

// definitions returns the CRDs, and the CRDs generated from XRDs, in a YAML text.
func definitions(t testing.TB, text string) []validate.Definition {
	t.Helper()
	docs := e2e.Must(manifest.Split("defs.yaml", []byte(text)))(t)
	var all []validate.Definition
	for _, doc := range docs {
		obj := e2e.Must(doc.Object())(t)
		for _, c := range e2e.Must(crd.All(obj))(t) {
			all = append(all, validate.Definition{Object: c, Path: doc.Path, Line: doc.Line, Source: doc})
		}
	}
	return all
}

// docs returns the documents in a YAML text.
func docs(text string) iter.Seq2[manifest.Document, error] {
	return (manifest.Reader{FS: afero.NewMemMapFs(), Stdin: strings.NewReader(text)}).Stream(context.Background(), "-")
}

// statusLines validates the objects in a YAML text. It returns one line for
// each result and one for each fault.
func statusLines(t testing.TB, v *validate.Validator, text string) []string {
	t.Helper()
	var all []string
	err := v.Documents(t.Context(), docs(text), func(r validate.Result) error {
		all = append(all, fmt.Sprintf("%d %s %s: %s", r.Line, r.Kind, r.Name, r.Status))
		for _, f := range r.Faults {
			line := fmt.Sprintf("  %d %s", f.Line, f.Text)
			if f.Nearest != "" {
				line += " (" + f.Nearest + ")"
			}
			all = append(all, line)
		}
		return nil
	})
	e2e.NoError(t, err)
	return all
}

const platform = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xbuckets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: XBucket, plural: xbuckets}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [region]
            properties:
              region: {type: string, enum: [eu, us]}
              size: {type: integer, minimum: 1, default: 7}
              frozen: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: is frozen}]}
              costly: {type: array, maxItems: 100, items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(a, self.all(b, self.all(c, a + b != c)))", message: costly}]}
            x-kubernetes-validations:
            - {rule: "self.size < 8 || self.region == 'us'", message: big ones are in the us}
  - {name: v0, served: false, referenceable: false, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xdbs.example.org}
spec:
  group: example.org
  names: {kind: XDB, plural: xdbs}
  claimNames: {kind: DB, plural: dbs}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {gb: {type: integer}}}}}}}
---
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: ManagedResourceDefinition
metadata: {name: nets.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {kind: Net, plural: nets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {cidr: {type: string}}}}}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bads.example.org}
spec: {group: example.org, scope: Cluster, names: {kind: Bad, plural: bads}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {}}}}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: odds.example.org}
spec: {group: example.org, scope: Cluster, names: {kind: Odd, plural: odds}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: [1]}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: xbuckets.example.org}
spec: {group: example.org, scope: Cluster, names: {kind: XBucket, plural: xbuckets}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
`

const unchecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

func TestDocuments(t *testing.T) {
	const bucket = "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: b}\n"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Good":      {"an object is valid with defaults and the default namespace", bucket + "spec: {region: eu}", []string{"1 XBucket b: valid"}},
		"Modern":    {"an XR of the v2 schema has spec.crossplane", bucket + "spec: {region: eu, crossplane: {compositionRef: {name: c}}}", []string{"1 XBucket b: valid"}},
		"Comment":   {"the line of an object is after its comments", "# c\n\n" + bucket + "spec: {region: eu}", []string{"3 XBucket b: valid"}},
		"Faults":    {"each fault has its line, and an unknown field a similar one", bucket + "spec:\n  regoin: eu\n  size: 0", []string{"1 XBucket b: invalid", "  4 spec.region: Required value", `  5 unknown field "spec.regoin" (region)`, "  6 spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1", "  1 " + unchecked}},
		"CEL":       {"a violated CEL rule is a fault", bucket + "spec: {region: eu, size: 9}", []string{"1 XBucket b: invalid", "  4 spec: Invalid value: big ones are in the us"}},
		"Cost":      {"a CEL rule above the cost limit is one fault", bucket + "spec: {region: eu, costly: [" + strings.Repeat("1, ", 99) + "1]}", []string{"1 XBucket b: invalid", `  4 spec.costly: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: costly`}},
		"Create":    {"a transition rule does not apply to a new object", bucket + "spec: {region: eu, frozen: x}", []string{"1 XBucket b: valid"}},
		"Metadata":  {"names and labels are validated; the server clears the namespace of a cluster-scoped object", "apiVersion: example.org/v1\nkind: Net\nmetadata:\n  name: n.n\n  namespace: x\n  labels: {a: \"-\"}\n", []string{"1 Net n.n: invalid", "  6 metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"}},
		"Generated": {"a generateName is enough", "apiVersion: example.org/v1\nkind: Net\nmetadata: {generateName: n-}\n", []string{"1 Net n-: valid"}},
		"Nameless":  {"an object must have a name or a generateName", "apiVersion: example.org/v1\nkind: Net\nmetadata: {annotations: {crossplane.io/composition-resource-name: net}}\n", []string{"1 Net net: invalid", "  3 metadata.name: Required value: name or generateName is required"}},
		"Long":      {"annotations have a maximum size", "apiVersion: example.org/v1\nkind: Net\nmetadata: {name: net, annotations: {a: " + strings.Repeat("x", 256<<10) + "}}\n", []string{"1 Net net: invalid", "  3 metadata.annotations: Too long: may not be more than 262144 bytes"}},
		"Owner":     {"an owner reference may have no UID", "apiVersion: example.org/v1\nkind: Net\nmetadata: {name: net, ownerReferences: [{apiVersion: a/v1, kind: A, name: a, uid: \"\"}]}\n", []string{"1 Net net: valid"}},
		"Claim":     {"a claim has its own definition", "apiVersion: example.org/v1\nkind: DB\nmetadata: {name: d}\nspec: {gb: 1, compositionSelector: {matchLabels: {a: b}}, claimRef: {}}", []string{"1 DB d: invalid", `  4 unknown field "spec.claimRef"`}},
		"Legacy":    {"an XR of a v1 XRD is cluster-scoped", "apiVersion: example.org/v1\nkind: XDB\nmetadata: {name: d}\nspec: {gb: 1, claimRef: {apiVersion: a, kind: b, namespace: c, name: d}}", []string{"1 XDB d: valid"}},
		"NoVersion": {"an unknown version is a fault", "apiVersion: example.org/v9\nkind: XBucket", []string{"1 XBucket : invalid", `  1 apiVersion: Invalid value: "example.org/v9": no matches for kind "XBucket": version v9 does not exist; the versions are v1, v0`}},
		"NotServed": {"a version that is not served is a fault", "apiVersion: example.org/v0\nkind: XBucket", []string{"1 XBucket : invalid", `  1 apiVersion: Invalid value: "example.org/v0": no matches for kind "XBucket": version v0: not served`}},
		"Misspelt":  {"a kind that is similar to the kind of an XRD is a fault", "apiVersion: example.org/v1\nkind: XBukcet\nmetadata: {name: b}", []string{"1 XBukcet b: invalid", `  2 kind: Invalid value: "XBukcet": no matches for kind "XBukcet" in version "example.org/v1" (XBucket)`}},
		"Capital":   {"a kind with another capital letter may have an XRD, too", "apiVersion: example.org/v1\nkind: ZBucket\nmetadata: {name: b}", []string{"1 ZBucket b: no schema"}},
		"Digit":     {"a kind with a digit may have an XRD, too", "apiVersion: example.org/v1\nkind: XBucket2\nmetadata: {name: b}", []string{"1 XBucket2 b: no schema"}},
		"Undefined": {"the metadata of an object without a definition is validated", "apiVersion: other.org/v1\nkind: O\nmetadata: {labels: {a: 1}}", []string{"1 O : invalid", "  3 metadata.labels[a]: Invalid value: 1: must be a string, not the number 1"}},
		"OtherTool": {"the metadata of a file of another tool may have other fields", "apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata: {name: c, title: C, tags: [a], links: [{url: u}]}\n---\napiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: c, region: eu, version: \"1.33\"}", []string{"1 Component c: no schema", "5 ClusterConfig c: no schema"}},
		"Misplaced": {"misspelled and misplaced fields of metadata are faults of any kind", "apiVersion: other.org/v1\nkind: O\nmetadata: {name: o, lables: {}, spec: {}}", []string{"1 O o: invalid", "  3 unknown field \"metadata.lables\" (labels)", "  3 unknown field \"metadata.spec\""}},
		"NoSchema":  {"an object without a definition has no schema", "apiVersion: other.org/v1\nkind: O\nmetadata: {name: o}", []string{"1 O o: no schema"}},
		"Broken": {"an invalid definition is reported once, and other objects are validated", "apiVersion: example.org/v1\nkind: Bad\nmetadata: {name: a}\n---\napiVersion: example.org/v1\nkind: Bad\nmetadata: {name: b}\n---\n" + bucket + "spec: {region: eu}", []string{
			"48 CustomResourceDefinition bads.example.org: invalid", "  51 spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
			"1 Bad a: no schema", "  0 the definition of its kind at defs.yaml:48 is invalid", "5 Bad b: no schema", "  0 the definition of its kind at defs.yaml:48 is invalid", "9 XBucket b: valid",
		}},
		"Unread": {"a definition whose schema has another type is reported", "apiVersion: example.org/v1\nkind: Odd\nmetadata: {name: a}", []string{
			"53 CustomResourceDefinition odds.example.org: invalid", "  56 spec.versions[0].schema.openAPIV3Schema: Invalid value: must be an object, not a list", "1 Odd a: no schema", "  0 the definition of its kind at defs.yaml:53 is invalid",
		}},
		"Untyped":    {"an object must have an apiVersion and a kind", "metadata: {name: x}\n---\nkind: X\n", []string{"1  x: invalid", "  1 apiVersion: Required value: must not be empty", "  1 kind: Required value: must not be empty", "3 X : invalid", "  3 apiVersion: Required value: must not be empty"}},
		"NoObject":   {"documents after invalid ones are validated", "5\n---\na: b: c\n---\n" + bucket + "spec: {region: eu}", []string{"1  : invalid", "  1 expected an object, got a number", "3  : invalid", `  3 mapping values are not allowed in this context: found ": c" in a value`, "5 XBucket b: valid"}},
		"Twice":      {"a duplicate key is a fault", bucket + "spec:\n  region: eu\n  region: us", []string{"1 XBucket b: invalid", `  6 key "region" already set in map`}},
		"AfterEnd":   {"an object after the end of JSON is a fault, because it is not validated", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}` + "\n{}\n", []string{"1 ConfigMap c: invalid", `  2 content after the end of the object is ignored; begin each document with "---"`}},
		"Kubernetes": {"objects of Kubernetes kinds are validated", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  repilcas: 2\n", []string{"1 Deployment d: invalid", `  5 unknown field "spec.repilcas" (replicas)`}},
		"Name":       {"the names of Kubernetes kinds are validated", "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\n", []string{"1 Service 1a: invalid", `  3 metadata.name: Invalid value: "1a": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`}},
		"Crossplane": {"objects of Crossplane kinds are validated", "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\nspec: {pakage: a/b:v1}\n", []string{"1 Provider p: invalid", "  4 spec.package: Required value", `  4 unknown field "spec.pakage" (package)`, "  1 " + unchecked}},
		"List": {"each item of a list has its own result", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {a: 1}\n- 7\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n", []string{
			"4 ConfigMap a: invalid", "  7 data[a]: Invalid value: 1: must be a string, not the number 1", "8  : invalid", "  8 apiVersion: Required value: must not be empty", "  8 kind: Required value: must not be empty", "9 Secret s: valid",
		}},
		"Rendered":    {"results and contexts of a render are skipped", "apiVersion: render.crossplane.io/v1beta1\nkind: Result\nmessage: hi\n", nil},
		"Composition": {"Compositions are checked", "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XBucket}\n  mode: Pipeline\n  pipelin: []\n  pipeline:\n  - {step: a, functionRef: {name: f}}\n  - {step: a, functionRef: {name: f}}\n", []string{"1 Composition c: invalid", `  7 unknown field "spec.pipelin" (pipeline)`, `  10 spec.pipeline[1]: Duplicate value: {"step":"a"}`}},
		"Resources":   {"Crossplane v2 refuses a legacy Composition", "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XBucket}\n  resources:\n  - name: a\n    base: {apiVersion: v1, kind: ConfigMap}\n    patches:\n    - {fromFieldPath: spec.region, toFieldPath: data.region}\n", []string{"1 Composition c: invalid", "  6 spec.resources: Crossplane v2 refuses a Composition of mode Resources: convert it with `convert pipeline-composition`, or select a version of Crossplane v1"}},
		"XRDName": {"an XRD is named after its plural and group", "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: xas.a.b}\nspec: {group: a.b, names: {kind: A, plural: as}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]}\n", []string{
			"1 CompositeResourceDefinition xas.a.b: invalid", `  3 metadata.name: Invalid value: "xas.a.b": must be "as.a.b": the plural name, a dot and the group`,
		}},
		"Finalizer": {"a finalizer of a built-in kind is a standard one or has a domain", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, finalizers: [orphan, example.org/f, mine]}\n", []string{
			"1 ConfigMap c: invalid", `  3 metadata.finalizers[2]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`,
		}},
		"XRD": {"the schema of an XRD among the resources is validated", "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: as.a.b}\nspec:\n  group: a.b\n  names: {kind: A, plural: as}\n  versions:\n  - name: v1\n    served: true\n    referenceable: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              l: {type: array, items: {type: string, patern: a}}\n              m: {x: 1}\n", []string{
			"1 CompositeResourceDefinition as.a.b: invalid", `  18 unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.l.items.patern" (pattern)`,
			"  19 spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[m].type: Required value: must not be empty for specified object fields", `  19 unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.m.x"`,
		}},
	}
	v := validate.New(definitions(t, platform), validate.Options{Composition: checked, Namespace: "default"})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, statusLines(t, v, tc.text))
		})
	}
}

// TestCrossplane validates objects by the CRDs of several releases of Crossplane.
func TestCrossplane(t *testing.T) {
	const composition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XBucket}\n"
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: providers.pkg.crossplane.io}\nspec: {group: pkg.crossplane.io, scope: Cluster, names: {kind: Provider, plural: providers}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}"
	const provider = "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\nspec: {package: acme/provider:v1}\n"
	cases := map[string]struct {
		reason            string
		release           schema.Release
		definitions, text string
		want              validate.Status
	}{
		"Newest":         {"the zero value is the newest release, where a package needs a registry", "", "", provider, validate.Invalid},
		"Package":        {"a package may have no registry in v1.20", schema.V1_20, "", provider, validate.Valid},
		"Scope":          {"an XRD of v1.20 has no scope", schema.V1_20, "", "apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: as.a.b}\nspec: {group: a.b, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]}", validate.Invalid},
		"Kind":           {"v1.20 has no Operations", schema.V1_20, "", "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: o}\nspec: {pipeline: []}", validate.NoSchema},
		"Field":          {"v2.2 has no common annotations of packages", schema.V2_2, "", "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\nspec: {package: \"registry.example.org/acme/p:v1\", commonAnnotations: {a: b}}", validate.Invalid},
		"Resources":      {"v1.14 has Compositions of mode Resources", schema.V1_14, "", composition + "  resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}}]", validate.Valid},
		"WrongResources": {"v1.14 validates Compositions of mode Resources", schema.V1_14, "", composition + "  resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}, readinessChecks: [{type: Maybe}]}]", validate.Invalid},
		"Definition":     {"a definition replaces the definition of the release", "", crd, provider, validate.Valid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var given []validate.Definition
			if tc.definitions != "" {
				given = definitions(t, tc.definitions)
			}
			v := validate.New(given, validate.Options{Composition: checked, Crossplane: tc.release})
			got := statusLines(t, v, tc.text)
			if len(got) == 0 || !strings.HasSuffix(got[0], ": "+string(tc.want)) {
				t.Errorf("%s: want %s, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestNamespaceRequired(t *testing.T) {
	v := validate.New(definitions(t, platform), validate.Options{Composition: checked})
	got := statusLines(t, v, "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: b}\nspec: {region: eu}")
	want := []string{"1 XBucket b: invalid", "  3 metadata.namespace: Required value", "  1 " + unchecked}
	e2e.Equal(t, "a namespaced object needs a namespace", want, got)
}

func TestOld(t *testing.T) {
	old := e2e.Must(validate.ReadOld(docs("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: example.org/v1, kind: XBucket, metadata: {name: b, uid: u, resourceVersion: \"7\", generation: 3}, spec: {region: asia, frozen: ice}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, uid: u}}")))(t)
	v := validate.New(definitions(t, platform), validate.Options{Composition: checked, Namespace: "default", Old: old})
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Frozen":   {"a transition rule applies to an update", "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: b}\nspec: {region: eu, frozen: fire}", []string{"1 XBucket b: invalid", "  4 spec.frozen: Invalid value: \"fire\": is frozen"}},
		"Kept":     {"an unchanged field satisfies a transition rule", "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: b}\nspec: {region: eu, frozen: ice}", []string{"1 XBucket b: valid"}},
		"Ratchet":  {"an unchanged invalid field is valid, as in the API server", "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: b}\nspec: {region: asia, frozen: ice, size: 2}", []string{"1 XBucket b: valid"}},
		"Other":    {"an object with another name is created", "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: c}\nspec: {region: eu, frozen: fire}", []string{"1 XBucket c: valid"}},
		"Metadata": {"immutable metadata cannot change", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, uid: v}", []string{"1 ConfigMap c: invalid", `  3 metadata.uid: Invalid value: "v": field is immutable`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, statusLines(t, v, tc.text))
		})
	}
	for name, text := range map[string]string{"invalid YAML": "a: b: c", "a number": "5", "text after a separator": "--- x"} {
		e2e.Error(t, fmt.Sprintf("%s was accepted as an old object", name), e2e.Err(validate.ReadOld(docs(text))))
	}
}

// TestComposition checks that the validation of a patch uses the definitions of both
// kinds: the kind of the source and the kind of the target. The mode of the Composition
// decides which faults are warnings.
func TestComposition(t *testing.T) {
	const text = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XBucket}\n  mode: Pipeline\n  pipeline:\n  - step: a\n    functionRef: {name: function-patch-and-transform}\n    input:\n      apiVersion: pt.fn.crossplane.io/v1beta1\n      kind: Resources\n      resources:\n      - name: net\n        base: {apiVersion: example.org/v1, kind: Net}\n        patches:\n        - {fromFieldPath: spec.regoin, toFieldPath: spec.cidr}\n      - {name: o, base: {apiVersion: other.org/v1, kind: O}}\n      - {name: cm, base: {apiVersion: v1, kind: ConfigMap}}\n"
	const typo = "  17 spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: "
	const missing = "  18 spec.pipeline[0].input.resources[1].base: "
	cases := map[string]struct {
		mode check.Mode
		want validate.Status
	}{"default": {"", validate.Valid}, "warn": {check.Warn, validate.Valid}, "loose": {check.Loose, validate.Invalid}, "strict": {check.Strict, validate.Invalid}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := statusLines(t, validate.New(definitions(t, platform), validate.Options{Composition: check.ForValidation(check.Options{Mode: tc.mode, Inputs: builtin.Inputs()})}), text)
			if len(got) != 3 || !strings.HasSuffix(got[0], string(tc.want)) || !strings.HasPrefix(got[1], typo) || !strings.HasPrefix(got[2], missing) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestObjects validates objects with numbers as functions return them, and
// without a position in a file.
func TestObjects(t *testing.T) {
	v := validate.New(definitions(t, platform), validate.Options{Namespace: "default", Composition: checked})
	results := v.Objects(t.Context(),
		map[string]any{"apiVersion": "example.org/v1", "kind": "XBucket", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"region": "eu", "size": 2.0}},
		map[string]any{"apiVersion": "example.org/v1", "kind": "XBucket", "metadata": map[string]any{"name": "b"}, "spec": map[string]any{"region": "eu", "size": 2.5}},
		map[string]any{"apiVersion": "render.crossplane.io/v1beta1", "kind": "Result"},
		map[string]any{"apiVersion": "example.org/v1", "kind": "Bad", "metadata": map[string]any{"name": "c"}},
		map[string]any{"apiVersion": "example.org/v1", "kind": "Bad", "metadata": map[string]any{"name": "d"}},
		map[string]any{"kind": math.NaN()},
	)
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%s:%d %s %s %v", r.Path, r.Line, r.Name, r.Status, r.Faults))
	}
	want := []string{
		":0 a valid []",
		`:0 b invalid [spec.size: Invalid value: "number": spec.size in body must be of type integer: "number" ` + unchecked + "]",
		"defs.yaml:48 bads.example.org invalid [spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields]",
		":0 c no schema [the definition of its kind at defs.yaml:48 is invalid]",
		":0 d no schema [the definition of its kind at defs.yaml:48 is invalid]",
		":0  invalid [json: unsupported value: NaN]",
	}
	e2e.Equal(t, "each object has the result of its validation", want, got)
}

func TestComposedBy(t *testing.T) {
	const cluster, missing = "kind: Forbidden: a namespaced composite resource cannot compose a cluster-scoped resource", "metadata.namespace: Required value"
	all := validate.New(definitions(t, platform), validate.Options{Namespace: "default"})
	cases := map[string]struct {
		reason, xr, composed string
		want                 []string
	}{
		"Namespaced":        {"the namespace of the XR is the default", `{apiVersion: example.org/v1, kind: XBucket}`, `{apiVersion: v1, kind: ConfigMap}`, nil},
		"Cluster":           {"a cluster-scoped XR has no default namespace", `{apiVersion: example.org/v1, kind: XDB, metadata: {namespace: x}}`, `{apiVersion: v1, kind: ConfigMap}`, []string{missing}},
		"ClusterOfCluster":  {"a cluster-scoped XR composes cluster-scoped resources", `{apiVersion: example.org/v1, kind: XDB}`, `{apiVersion: example.org/v1, kind: Net}`, nil},
		"ClusterDefinition": {"a namespaced XR composes no cluster-scoped resource with a definition", `{apiVersion: example.org/v1, kind: XBucket}`, `{apiVersion: example.org/v1, kind: Net}`, []string{cluster}},
		"ClusterBuiltin":    {"a namespaced XR composes no cluster-scoped resource of a builtin kind", `{apiVersion: example.org/v1, kind: XBucket}`, `{apiVersion: v1, kind: Namespace}`, []string{cluster}},
		"Unknown":           {"an XR without a definition and without a namespace may be cluster-scoped", `{apiVersion: example.org/v1, kind: XOther}`, `{apiVersion: v1, kind: Namespace}`, nil},
		"UnknownNamespaced": {"an XR without a definition is namespaced if it has a namespace", `{apiVersion: example.org/v1, kind: XOther, metadata: {namespace: x}}`, `{apiVersion: v1, kind: Namespace}`, []string{cluster}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			composed := e2e.Object(t, tc.composed)
			composed["metadata"] = map[string]any{"name": "c"}
			var got []string
			for _, r := range all.ComposedBy(e2e.Object(t, tc.xr)).Objects(t.Context(), composed) {
				for _, f := range r.Faults {
					got = append(got, f.String())
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestDeepSchema validates an object by a schema that is 2000 levels deep.
func TestDeepSchema(t *testing.T) {
	const depth = 2000
	open := strings.Repeat(`{type: object, properties: {a: `, depth)
	text := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ds.example.org}, spec: {group: example.org, scope: Cluster, names: {kind: D, plural: ds}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + open + "{type: string}" + strings.Repeat("}}", depth) + "}}]}}"
	v := validate.New(definitions(t, text), validate.Options{Composition: checked})
	object := "apiVersion: example.org/v1\nkind: D\nmetadata: {name: d}\n"
	got := statusLines(t, v, object+"a: "+strings.Repeat("{a: ", depth-1)+"x"+strings.Repeat("}", depth-1)+"\n---\n"+object+"a: {a: {b: 1}}\n")
	want := []string{"1 D d: valid", "6 D d: invalid", `  9 unknown field "a.a.b"`}
	e2e.Equal(t, "an object is validated at any depth of the schema", want, got)
}

// appDocuments returns n objects of the kind that testdata/apps.yaml defines,
// with a dozen fields each.
func appDocuments(n int) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) {
		for i := range n {
			text := fmt.Sprintf("apiVersion: example.org/v1\nkind: XApp\nmetadata:\n  name: app-%d\n  labels: {team: a, tier: b}\nspec:\n  image: registry.example.org/acme/app:v%d\n  size: small\n  minReplicas: 2\n  since: 2026-01-02T03:04:05Z\n  labels:\n    one: \"1\"\n    two: \"2\"\n  env:\n  - name: A\n    value: x\n  - name: AB\n    value: z\n", i, i)
			if !yield(manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(text)}, nil) {
				return
			}
		}
	}
}

// TestOrder checks that results have the order of the documents, and that an
// error of the callback stops the validation.
func TestOrder(t *testing.T) {
	definition, err := os.ReadFile("testdata/apps.yaml")
	e2e.NoError(t, err)
	v := validate.New(definitions(t, string(definition)), validate.Options{Composition: checked, Namespace: "default"})
	n := 0
	enough := errors.New("enough")
	err = v.Documents(t.Context(), appDocuments(1000), func(r validate.Result) error {
		e2e.Equal(t, "results have the order of the documents", fmt.Sprintf("app-%d", n), r.Name)
		if n++; n == 500 {
			return enough
		}
		return nil
	})
	e2e.ErrorIs(t, "the error of the callback ends the validation", err, enough)
	e2e.Equal(t, "no result follows the error of the callback", 500, n)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	e2e.ErrorIs(t, "validation returns the cause of its context", v.Documents(ctx, appDocuments(10), func(validate.Result) error { return nil }), enough)
}

// TestXRDOnce checks that the faults of an XRD are reported once for its two kinds.
func TestXRDOnce(t *testing.T) {
	const xrd = "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: xdbs.example.org}\nspec:\n  group: example.org\n  names: {kind: XDB, plural: xdbs}\n  claimNames: {kind: DB, plural: dbs}\n  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]\n"
	v := validate.New(definitions(t, xrd), validate.Options{Namespace: "default"})
	got := statusLines(t, v, "apiVersion: example.org/v1\nkind: XDB\nmetadata: {name: a}\nspec: {}\n---\napiVersion: example.org/v1\nkind: DB\nmetadata: {name: b}\nspec: {}\n")
	want := []string{"1 CompositeResourceDefinition xdbs.example.org: invalid", "  7 spec: Invalid value: Claims aren't supported in apiextensions.crossplane.io/v2: remove claimNames, because users create the composite resource itself", "1 XDB a: valid", "6 DB b: valid"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestCancelInList checks that validation of a list with many items ends when ctx is done.
func TestCancelInList(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", 50)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	n := 0
	err := validate.New(nil, validate.Options{}).Documents(ctx, docs(list), func(validate.Result) error {
		n++
		cancel(enough)
		return nil
	})
	e2e.ErrorIs(t, "validation of a list returns the cause of its context", err, enough)
	e2e.Equal(t, "no result follows the end of the context", 1, n)
}
