package builtin_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

func TestPolicy(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	cases := map[string]struct {
		reason    string
		policy    builtin.Policy
		pkg, want string
	}{
		"Published":     {"a tag of crossplane-contrib is replaced by a builtin", builtin.Policy{}, "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1", "function-dummy"},
		"AnyHost":       {"the host is ignored, since mirrors keep the path", builtin.Policy{Mode: builtin.Auto}, "ghcr.io/crossplane-contrib/function-dummy:v9.9.9", "function-dummy"},
		"NoHost":        {"a package without a host is replaced", builtin.Policy{}, "crossplane-contrib/function-dummy:v0.4.1", "function-dummy"},
		"Digest":        {"a digest names exact content, which is not replaced", builtin.Policy{Mode: builtin.Any}, "xpkg.crossplane.io/crossplane-contrib/function-dummy" + digest, ""},
		"TagAndDigest":  {"a tag with a digest is not replaced", builtin.Policy{Mode: builtin.Any}, "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1" + digest, ""},
		"OtherOwner":    {"another owner's package is not replaced", builtin.Policy{}, "xpkg.crossplane.io/acme/function-dummy:v0.4.1", ""},
		"DeeperOwner":   {"an owner with a longer path is another owner", builtin.Policy{}, "ghcr.io/acme/crossplane-contrib/function-dummy:v0.4.1", ""},
		"OtherOwnerAny": {"mode any ignores the owner", builtin.Policy{Mode: builtin.Any}, "xpkg.crossplane.io/acme/function-dummy:v0.4.1", "function-dummy"},
		"Off":           {"mode off replaces no package", builtin.Policy{Mode: builtin.Off}, "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1", ""},
		"Mirror":        {"a mirror in the policy is replaced in mode off too", builtin.Policy{Mode: builtin.Off, Repositories: map[string]string{"ghcr.io/acme/fd": "function-dummy"}}, "ghcr.io/acme/fd:v1", "function-dummy"},
		"MirrorOther":   {"a repository that is not in the policy is not replaced", builtin.Policy{Repositories: map[string]string{"ghcr.io/acme/fd": "function-dummy"}}, "ghcr.io/acme/fx:v1", ""},
		"Unknown":       {"an unknown function is not replaced", builtin.Policy{}, "xpkg.crossplane.io/crossplane-contrib/function-nobody:v1", ""},
		"Garbage":       {"an invalid reference is not replaced", builtin.Policy{Mode: builtin.Any}, "::function-dummy::", ""},
		"Empty":         {"an empty package is not replaced", builtin.Policy{Mode: builtin.Any}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.policy.For(tc.pkg)
			e2e.Equal(t, tc.reason, tc.want, got.Name)
			e2e.Equal(t, tc.reason, tc.want != "", ok)
		})
	}
}

func TestForced(t *testing.T) {
	policy := builtin.Policy{Repositories: map[string]string{"ghcr.io/acme/fd": "function-dummy"}}
	cases := map[string]struct{ reason, pkg, want string }{
		"Name":    {"any repository with the name of a builtin is replaced", "ghcr.io/acme/function-dummy:v1", "function-dummy"},
		"Mirror":  {"a mirror in the policy is replaced", "ghcr.io/acme/fd:v1", "function-dummy"},
		"Other":   {"another repository is not replaced", "ghcr.io/acme/other:v1", ""},
		"Garbage": {"an invalid reference is not replaced", "::", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := policy.Forced(tc.pkg); got.Name != tc.want || ok != (tc.want != "") {
				t.Errorf("%s: got %q, %t", tc.reason, got.Name, ok)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	cases := map[string]struct{ reason, repo, builtin, want string }{
		"Good":       {"an existing builtin for a repository is valid", "ghcr.io/acme/fd", "function-dummy", ""},
		"Short":      {"the prefix function- is optional", "ghcr.io/acme/fd", "dummy", ""},
		"Builtin":    {"an unknown builtin is an error", "ghcr.io/acme/fd", "nope", `there is no builtin "nope": the builtins are function-auto-ready, function-cel-filter, function-dummy, function-environment-configs, function-extra-resources, function-go-templating, function-patch-and-transform, function-sequencer, function-status-transformer, function-tag-manager`},
		"Repository": {"an invalid repository is an error", "A B", "function-dummy", `expected a repository such as ghcr.io/acme/dummy, got "A B"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := builtin.Policy{Repositories: map[string]string{tc.repo: tc.builtin}}.Check()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestAll(t *testing.T) {
	var names []string
	for _, b := range builtin.All() {
		names = append(names, b.Name)
		if b.New == nil || b.Measured == "" {
			t.Errorf("%s has no runner or no measured version", b.Name)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the catalog is not sorted: %v", names)
	}
}

func TestCheckVersion(t *testing.T) {
	b := builtin.Builtin{Name: "function-x", From: "v0.8.0", Below: "v0.11.0"}
	cases := map[string]struct {
		reason, pkg, want string
	}{
		"First":     {"the first version of the range is replaced", "a/b:v0.8.0", ""},
		"Last":      {"the last version of the range is replaced", "a/b:v0.10.99", ""},
		"End":       {"the end of the range is not replaced", "a/b:v0.11.0", "the builtin function-x replaces versions v0.8.0 to below v0.11.0, not v0.11.0"},
		"Candidate": {"a release candidate precedes its version", "a/b:v0.8.0-rc.1", "not v0.8.0-rc.1"},
		"Short":     {"a version may have two numbers", "a/b:v0.9", ""},
		"Bare":      {"a version may have no leading v", "a/b:0.7.1", "not 0.7.1"},
		"Branch":    {"a tag that is not a version is an error", "a/b:main", `the builtin function-x replaces versions v0.8.0 to below v0.11.0, but the tag "main" is not a version`},
		"None":      {"a missing tag is valid", "a/b", ""},
		"Digest":    {"a digest is valid", "a/b@sha256:0123", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := b.CheckVersion(tc.pkg)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestPackage checks that builtins behave like the version in the tag of their package.
func TestPackage(t *testing.T) {
	const prefix = "xpkg.crossplane.io/crossplane-contrib/"
	cases := map[string]struct{ reason, pkg, input, want string }{
		"Older":   {"an older version does not know a newer field", prefix + "function-sequencer:v0.5.1", `{"cacheTTL": "1m"}`, `unknown name "cacheTTL"`},
		"Newer":   {"the version of the field knows it", prefix + "function-sequencer:v0.6.0", `{"cacheTTL": "1m"}`, ""},
		"Bare":    {"a tag may have no leading v", prefix + "function-tag-manager:0.2.1", `{"removeTags": []}`, `unknown object member name "removeTags"`},
		"NoTag":   {"without a tag, the builtin behaves like the newest release", prefix + "function-sequencer", `{"rules": [{"createOnly": true}]}`, `unknown name "createOnly"`},
		"Unknown": {"the branch knows a field that no release has", prefix + "function-sequencer:main", `{"rules": [{"createOnly": true}]}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, ok := builtin.Policy{}.For(tc.pkg)
			if !ok {
				t.Fatal("there is no builtin")
			}
			req := request(t, `{"input": `+tc.input+`, "desired": {}}`)
			rsp := e2e.Must(b.New(builtin.Options{Package: tc.pkg}).RunFunction(t.Context(), b.Name, req))(t)
			if len(rsp.GetResults()) != 0 && tc.want == "" || !strings.Contains(fmt.Sprint(rsp.GetResults()), strings.ReplaceAll(tc.want, `"`, `\"`)) {
				t.Errorf("%s: got %v", tc.reason, rsp.GetResults())
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	b := builtin.Builtin{Name: "function-x", From: "v0.8.0", Below: "v0.11.0", Input: composition.Input{Type: reflect.TypeFor[spec.Resources]()}}
	const input = `{"resources": [{}, {"patches": [{"toFieldPat": "a"}]}, {"patches": [{"toFieldPath": "a"}]},
		{"name": "bucket", "patches": [{"fromFieldPath": "spec.size", "transforms": [{"type": "map", "map": {"small": "s", "large": "l"}}, {"type": "map", "map": {"s": "t"}}]}]}],
		"patchSets": [{"name": "common-labels"}]}`
	const bucketPatch = `cannot render composed resource "bucket" "FromCompositeFieldPath" patch at index 0: transform at index `
	cases := map[string]struct{ reason, fatal, want string }{
		"Path":    {"the hint has the path of a field that the result only names", `cannot get Function input: … json: cannot unmarshal Go value of type v1beta1.ComposedPatch: unknown name "toFieldPat"`, "did you mean toFieldPath? Otherwise check resources[1].patches[0].toFieldPat: "},
		"Name":    {"a field that the input does not have has no path", `cannot get Function input: … json: cannot unmarshal Go value of type v1beta1.Resources: unknown name "resorces"`, "did you mean resources? Otherwise check resorces: "},
		"Newer":   {"the hint has the name of a field that function-tag-manager reports", `cannot get Function input: … json: cannot unmarshal JSON string into Go v1beta1.ManagedTags: unknown object member name "resorces"`, "did you mean resources? Otherwise check resorces: "},
		"Near":    {"the hint suggests a similar field", `cannot get Function input: … json: unknown field "resources[0].patches[0].toFieldPat"`, "did you mean toFieldPath? Otherwise check resources[0].patches[0].toFieldPat: "},
		"Value":   {"the hint suggests a similar value", `invalid Function input: resources[0].patches[0].type: Invalid value: "FromCompositFieldPath": unknown patch type`, "did you mean FromCompositeFieldPath?"},
		"Odd":     {"the values are listed if no other is similar", `invalid Function input: resources[0].patches[0].type: Invalid value: "Odd": unknown patch type`, "write one of FromCompositeFieldPath, ToCompositeFieldPath, "},
		"Empty":   {"a fatal result may have no message", "", ""},
		"Begins":  {"a value that begins with an allowed one is similar", `invalid Function input: x.convert.toType: Invalid value: "integer": invalid type`, "did you mean int?"},
		"Set":     {"the hint suggests a similar patch set", "cannot resolve PatchSets: cannot find PatchSet by name comon-labels", "did you mean common-labels?"},
		"Key":     {"the hint names the field that a map reads, and the keys", bucketPatch + `0 returned error: map transform could not resolve: key xlarge is not found in map`, "set spec.size to a key of the map: large, small; or add the key xlarge"},
		"Key2":    {"a later map reads no field", bucketPatch + `1 returned error: map transform could not resolve: key l is not found in map`, "the keys of the map are s; or add the key l"},
		"Math":    {"a string must be converted before it is multiplied", bucketPatch + `0 returned error: math transform could not resolve: input is required to be a number for math transformer, got string`, "spec.size is a string: put the transform {type: convert, convert: {toType: int64}} before this one"},
		"Absent":  {"the types are listed if the type is missing", `invalid Function input: x.string.type: Required value: string transform type is required`, "write one of Format, Convert, "},
		"Combine": {"a combination without a strategy has an example", `invalid Function input: x.combine.strategy: Required value: a combine strategy must be provided`, "add strategy: string, "},
		"Text2":   {"an unknown conversion has a hint", `… returned error: string transform could not resolve: type ToLowerCase is not supported for string convert`, "did you mean ToLower?"},
		"All":     {"a wildcard without elements has a hint", `cannot render composed resource "a" "FromCompositeFieldPath" patch at index 0: cannot expand ToFieldPath spec.a[*].b`, "[*] stands for what exists, and nothing matches spec.a[*].b: add the list to the base, or write an index, as in spec.a[0].b"},
		"Fields":  {"the fields are listed if no other is similar", `cannot get Function input: … json: unknown field "resources[0].patches[0].transforms[0].eu-west-1"`, "check resources[0].patches[0].transforms[0].eu-west-1: the builtin function-x has the input of versions v0.8.0 to below v0.11.0, where the fields are convert, map, match, math, string, type, and other names belong in map; "},
		"Option":  {"an unknown option of templates has a hint", "cannot apply template options: panic occurred while applying template options: unrecognized option: missingkey=eror", "did you mean missingkey=error?"},
		"Meta":    {"an unknown kind of documents for the function has a hint", `invalid kind "ClaimCondition" for apiVersion "meta.gotemplating.fn.crossplane.io/v1alpha1" - must be one of CompositeConnectionDetails, Context or ExtraResources`, "did you mean ClaimConditions?"},
		"Case":    {"a function of templates in other case is suggested", `invalid function input: cannot parse the provided templates: template: manifests:25: function "toYAML" not defined`, "did you mean toYaml?"},
		"Helm":    {"a value of Helm has a hint", `cannot execute template: template: manifests:1:4: executing "manifests" at <.Values.a>: can't evaluate field Values in type interface {}`, "Helm has .Values"},
		"Zero":    {"a function of a value that does not exist has a hint", `cannot execute template: template: manifests:1:4: executing "manifests" at <len .a.b>: error calling len: reflect: call of reflect.Value.Type on zero Value`, `a value in <len .a.b> does not exist`},
		"Field":   {"the hint contains an unknown field", `cannot get Function input: … json: unknown field "a[0].b"`, "check a[0].b: the builtin function-x has the input of versions v0.8.0 to below v0.11.0; for another version, give its package with {package} NAME=PATH"},
		"Type":    {"the hint for another error in the input has no field", `cannot get Function input from x: json: cannot unmarshal`, "check the fields of the input: "},
		"Filter":  {"the text of function-cel-filter is about its input, too", `cannot get filters from *v1.RunFunctionRequest: cannot get function input: json: unknown field "a[0].b"`, "check a[0].b: the builtin function-x has the input of versions"},
		"Folder": {
			"the hint for templates that cannot be read names the folders", "invalid function input: cannot read tmpl from the folder {x}: open x: no such file or directory",
			"the builtin function-x reads templates only below the working directory",
		},
		"Volume": {
			"the hint for an absolute path says how to name a folder for it", "invalid function input: cannot read tmpl from the folder {/x}: open /x: no such file or directory",
			"name the folder that the function has at this path with {templates} /x=DIR",
		},
		"Denied": {"a template without permission is in a folder that is read", "invalid function input: cannot read tmpl from the folder {x}: open x/a.tmpl: permission denied", ""},
		"Version": {
			"the hint for a field that only other versions have says so", `cannot get Function input: … json: cannot unmarshal Go value of type v1beta1.ComposedPatch: unknown name "toFieldPath"`,
			"remove resources[2].patches[0].toFieldPath, or name another version of function-x, because not all versions have this field",
		},
		"CEL":    {"an unknown variable of a filter has a hint", `cannot evaluate CEL expression "spec.a" for filter 0: cannot type-check expression: ERROR: <input>:1:1: undeclared reference to 'spec' (in container '')`, "the variables are context, desired and observed: "},
		"Label":  {"a label without a value has an example", "cannot build requirements: Value cannot be nil for type 'Value'", "add value; or write type: FromCompositeFieldPath"},
		"Unset":  {"a field that the composite resource lacks has a hint", `could not build extra resource requirements: cannot get value from field path "spec.a": spec.a: no such field`, "set the field in the composite resource; "},
		"Source": {"a missing field has an example", "invalid function input: source is required", "add source: Inline, "},
		"Base":   {"a base that is not an object is named by its type", `cannot parse base template of composed resource "a": json: cannot unmarshal array into Go value of type map[string]interface {}`, "the base must be an object with apiVersion and kind, not a list"},
		"Text":   {"a document that is not an object is named by its type", `cannot decode manifest: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal bool into Go value of type map[string]interface {}`, "each document that the template writes must be an object with apiVersion and kind, not a boolean"},
		"Kind":   {"a base without a kind has a hint", `cannot parse base template of composed resource "a": Object 'Kind' is missing in '{}'`, "the base must have a kind"},
		"Labels": {"an annotation that is not a string has a hint", `invalid annotations in resource 'x': .metadata.annotations accessor error: 5 is of the type int64, expected string`, "metadata.annotations must be an object whose values are strings"},
		"Other":  {"other results have no hint", `invalid Function input: resources: Required value`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(b.Advice(tc.fatal, []byte(input))); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		})
	}
}
