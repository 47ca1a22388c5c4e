package patchandtransform_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/progress"
)

// TestCrashes checks inputs that crash the real function. In the builtin, they
// cause a fatal result.
func TestCrashes(t *testing.T) {
	cases := map[string]string{
		"matchcondition-nil":    `cannot check readiness of composed resource "r": cannot run readiness check at index 0: matchCondition: Required value`,
		"regexp-negative-group": `string transform could not resolve: regexp "(e)" had no matches for group -1`,
		"wcs-combine-nil":       "cannot compose connection secret: cannot generate connection secret reference: cannot apply connection secret patches: cannot apply patch type CombineFromComposite at index 0: combine must be set",
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			req := functiontest.Request(t, filepath.Join("../../../testdata/golden/pt-crash", name, "request.yaml"))
			got := run(t, req)
			if len(got.GetResults()) == 0 || !strings.Contains(last(got), want) {
				t.Errorf("got %v, want %s", got.GetResults(), want)
			}
		})
	}
}

// base is the part of a request that all cases have: an observed XR and observed
// composed resources.
const base = `
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: Pier, metadata: {name: p, namespace: n}, spec: {s: text, num: 7, big: 4611686018427387904, l: [1, 2], withNull: {x: null}}}}
  resources:
    seen: {resource: {apiVersion: v1, kind: Crane, metadata: {name: c}, status: {v: 1, ok: true, l: [a]}}, connectionDetails: {k: djE=}}
    bare: {resource: {apiVersion: v1, kind: Crane, metadata: {name: b}}}
`

func TestRules(t *testing.T) {
	cases := map[string]struct{ reason, input, more, want, results string }{
		"LargeIntegers": {
			"an integer of the XR is written like a JSON float",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.big, toFieldPath: a}, {type: FromCompositeFieldPath, fromFieldPath: spec.big, toFieldPath: b, transforms: [{type: convert, convert: {toType: string}}]}]}]", "",
			"{r: {kind: K, a: 4611686018427388000, b: '4611686018427388000'}}", "",
		},
		"CombinedNumber": {
			"values of the XR are combined as floats",
			"resources: [{name: r, base: {kind: K}, patches: [{type: CombineFromComposite, combine: {strategy: string, string: {fmt: '%d'}, variables: [{fromFieldPath: spec.num}]}, toFieldPath: a}]}]", "",
			"{r: {kind: K, a: '%!d(float64=7)'}}", "",
		},
		"NaN": {
			"a number that JSON cannot represent is an error",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.s, toFieldPath: a, transforms: [{type: map, map: {text: 'NaN'}}, {type: convert, convert: {toType: float64}}]}]}]", "",
			"", `cannot render composed resource "r" "FromCompositeFieldPath" patch at index 0: cannot marshal value to JSON: json: unsupported value: NaN`,
		},
		"NotUTF8": {
			"each byte of invalid UTF-8 is replaced",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.s, toFieldPath: a, transforms: [{type: map, map: {text: '//8='}}, {type: string, string: {type: Convert, convert: FromBase64}}]}]}]", "",
			"{r: {kind: K, a: \"\uFFFD\uFFFD\"}}", "",
		},
		"WildcardQuotes": {
			"quotes of a key are lost in an expanded path, as in the real function",
			`resources: [{name: r, base: {kind: K, m: {"'q'": {k: 1}}}, patches: [{fromFieldPath: spec.s, toFieldPath: 'm[*].k'}]}]`, "",
			`{r: {kind: K, m: {"'q'": {k: 1}, q: {k: text}}}}`, "",
		},
		"WildcardPolicy": {
			"the policy applies to each element",
			"resources: [{name: r, base: {kind: K, m: {a: [1], b: []}}, patches: [{fromFieldPath: spec.l, toFieldPath: 'm[*]', policy: {toFieldPath: AppendArray}}]}]", "",
			"{r: {kind: K, m: {a: [1, 2], b: [1, 2]}}}", "",
		},
		"WildcardKind": {
			"a missing kind is an error without a prefix",
			"resources: [{name: seen, patches: [{fromFieldPath: spec.s, toFieldPath: 'm[*]'}]}]", "desired: {resources: {seen: {resource: {m: {a: 1}}}}}",
			"", `cannot render composed resource "seen" "FromCompositeFieldPath" patch at index 0: Object 'Kind' is missing in '{"m":{"a":"text"},"metadata":{"name":"c"}}'`,
		},
		"BaseAPIVersion": {
			"a base with an invalid apiVersion has no kind",
			"resources: [{name: r, base: {apiVersion: a/b/c, kind: K}}]", "",
			"", `cannot parse base template of composed resource "r": Object 'Kind' is missing in '{"apiVersion":"a/b/c","kind":"K"}'`,
		},
		"BaseKind": {
			"the error for a base without a kind has no blanks between fields",
			"resources: [{name: r, base: {apiVersion: v1, spec: {a: [1, 2], b: c}}}]", "",
			"", `cannot parse base template of composed resource "r": Object 'Kind' is missing in '{"apiVersion":"v1","spec":{"a":[1,2],"b":"c"}}'`,
		},
		"XRAPIVersion": {
			"an XR with an invalid apiVersion cannot be patched",
			"resources: [{name: seen, base: {kind: K}, patches: [{type: ToCompositeFieldPath, fromFieldPath: status.v, toFieldPath: status.v}]}]",
			"observed: {composite: {resource: {apiVersion: a/b/c, kind: Pier}}, resources: {seen: {resource: {apiVersion: v1, kind: Crane, status: {v: 1}}}}}",
			"", `cannot render composed resource "seen" "ToCompositeFieldPath" patch at index 0: cannot patch to object: Object 'Kind' is missing in '{"apiVersion":"a/b/c","kind":"Pier","status":{"v":1}}'`,
		},
		"PatchSetTwice": {
			"of patch sets with the same name the last one applies",
			"{patchSets: [{name: a, patches: [{fromFieldPath: spec.s, toFieldPath: one}]}, {name: a, patches: [{fromFieldPath: spec.s, toFieldPath: two}]}], resources: [{name: r, base: {kind: K}, patches: [{type: PatchSet, patchSetName: a}]}]}", "",
			"{r: {kind: K, two: text}}", "",
		},
		"PatchSetOfPatchSets": {
			"a patch set must not contain a patch set",
			"{patchSets: [{name: a, patches: [{type: PatchSet}]}], resources: [{name: r}]}", "",
			"", `invalid Function input: patches[0].type: Invalid value: "PatchSet": patch type *v1beta1.PatchSetPatch does not support patch of type PatchSet`,
		},
		"DetailUnknownType": {
			"an unknown type is reported before a missing name",
			"resources: [{name: r, base: {kind: K}, connectionDetails: [{type: X}]}]", "",
			"", `invalid Function input: resources[0].connectionDetails[0].type: Invalid value: "X": unknown connection detail type`,
		},
		"DetailNoName": {
			"a missing name is reported before a missing value",
			"resources: [{name: r, base: {kind: K}, connectionDetails: [{type: FromValue}]}]", "",
			"", `invalid Function input: resources[0].connectionDetails[0].name: Required value: name is required`,
		},
		"CombineVariable": {
			"each variable needs a path",
			"resources: [{name: r, base: {kind: K}, patches: [{type: CombineFromComposite, toFieldPath: a, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: a}, {}]}}]}]", "",
			"", `invalid Function input: resources[0].patches[0].combine.variables[1].fromFieldPath: Required value: fromFieldPath must be set for each combine variable`,
		},
		"CombineStrategy": {
			"a combination needs a strategy",
			"resources: [{name: r, base: {kind: K}, patches: [{type: CombineFromComposite, toFieldPath: a, combine: {variables: [{fromFieldPath: a}]}}]}]", "",
			"", `invalid Function input: resources[0].patches[0].combine.strategy: Required value: a combine strategy must be provided`,
		},
		"CombineTransforms": {
			"transforms of a combination are not validated before the run",
			"resources: [{name: r, base: {kind: K}, patches: [{type: CombineFromComposite, toFieldPath: a, transforms: [{type: math}], combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: spec.s}]}}]}]", "",
			"", `cannot render composed resource "r" "CombineFromComposite" patch at index 0: transform at index 0 returned error: given transform type math requires configuration`,
		},
		"PatchSetTransforms": {
			"transforms of a patch of type PatchSet are validated",
			"{patchSets: [{name: a, patches: []}], resources: [{name: r, base: {kind: K}, patches: [{type: PatchSet, patchSetName: a, transforms: [{type: nope}]}]}]}", "",
			"", `invalid Function input: resources[0].patches[0].transforms[0].type: Invalid value: "nope": unknown transform type`,
		},
		"RegexpTooLong": {
			"the size of a regular expression is limited",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: a, transforms: [{type: string, string: {type: Regexp, regexp: {match: " + strings.Repeat("a", 17000) + "}}}]}]}]", "",
			"", "invalid regexp: the regular expression is too large",
		},
		"AppendDuplicates": {
			"an existing value is not appended, but an integer of the base differs from a float of the XR until a value is written",
			"resources: [{name: r, base: {kind: K, l: [2, 3]}, patches: [{fromFieldPath: spec.l, toFieldPath: l, policy: {toFieldPath: MergeObjectsAppendArrays}}]}]", "",
			"{r: {kind: K, l: [2, 3, 1]}}", "",
		},
		"AppendToText": {
			"a list cannot be appended to a string",
			"resources: [{name: r, base: {kind: K, l: ''}, patches: [{fromFieldPath: spec.l, toFieldPath: l, policy: {toFieldPath: AppendArray}}]}]", "",
			"", `cannot render composed resource "r" "FromCompositeFieldPath" patch at index 0: cannot patch to object: failed to merge values: cannot append two slices with different type ([]interface {}, string)`,
		},
		"CombinePolicy": {
			"an unknown policy of a combination is an error when the patch is applied",
			"resources: [{name: r, base: {kind: K}, patches: [{type: CombineFromComposite, toFieldPath: a, policy: {toFieldPath: Bogus}, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.s}]}}]}]", "",
			"", `cannot render composed resource "r" "CombineFromComposite" patch at index 0: invalid patch policy Bogus`,
		},
		"EmptyPolicy": {
			"a policy must not be empty",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.s, policy: {toFieldPath: ''}}]}]", "",
			"", `invalid Function input: resources[0].patches[0].policy.toFieldPathPolicy: Invalid value: "": unknown toFieldPathPolicy`,
		},
		"WildcardAllKind": {
			"a wildcard writes all elements before the kind is checked",
			"resources: [{name: seen, patches: [{fromFieldPath: spec.s, toFieldPath: 'm[*]'}]}]", "desired: {resources: {seen: {resource: {m: {a: 1, b: 2}}}}}",
			"", `Object 'Kind' is missing in '{"m":{"a":"text","b":"text"},"metadata":{"name":"c"}}'`,
		},
		"WildcardFloats": {
			"a wildcard writes all elements before floats become integers",
			"resources: [{name: seen, patches: [{fromFieldPath: spec.l, toFieldPath: 'm[*]', policy: {toFieldPath: AppendArray}}]}]", "desired: {resources: {seen: {resource: {kind: K, m: {a: [1], b: [1]}}}}}",
			"{seen: {kind: K, m: {a: [1, 1, 2], b: [1, 1, 2]}, metadata: {name: c}}}", "",
		},
		"MergeIntoEmpty": {
			"a merge into an empty object replaces it",
			"resources: [{name: r, base: {kind: K, o: {}}, patches: [{fromFieldPath: spec.withNull, toFieldPath: o, policy: {toFieldPath: MergeObjects}}]}]", "",
			"{r: {kind: K, o: {x: null}}}", "",
		},
		"NoStatus": {
			"a resource without a status has no condition, not even with the status Unknown",
			"resources: [{name: bare, base: {kind: K}, readinessChecks: [{type: MatchCondition, matchCondition: {type: Ready, status: Unknown}}]}]", "",
			"{bare: {kind: K, metadata: {name: b}}}", "",
		},
		"EnvironmentSlash": {
			"an invalid apiVersion of the environment is replaced",
			"resources: [{name: r, base: {kind: K}, patches: [{type: FromEnvironmentFieldPath, fromFieldPath: apiVersion, toFieldPath: a}]}]", "context: {apiextensions.crossplane.io/environment: {apiVersion: /}}",
			"{r: {kind: K, a: internal.crossplane.io/v1alpha1}}", "",
		},
		"IndexHuge": {
			"a huge list index is an error",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.s, toFieldPath: 'l[4294967295]'}]}]", "",
			"", `cannot patch to object: index 4294967295 is greater than max allowed index 1024`,
		},
		"IndexTooLarge": {
			"a list index has a maximum",
			"resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.s, toFieldPath: 'l[1025]'}]}]", "",
			"", `cannot patch to object: index 1025 is greater than max allowed index 1024`,
		},
		"ReadinessPath": {
			"an invalid path of a readiness check is a warning",
			"resources: [{name: seen, base: {kind: K}, readinessChecks: [{type: NonEmpty, fieldPath: a..b}]}]", "",
			"{seen: {kind: K, metadata: {name: c}}}", `cannot check readiness of composed resource "seen": cannot run readiness check at index 0: cannot parse path "a..b": unexpected '.' at position 2`,
		},
		"ReadinessShape": {
			"a path of a readiness check through a list is a warning",
			"resources: [{name: seen, base: {kind: K}, readinessChecks: [{type: NonEmpty, fieldPath: status.l.x}]}]", "",
			"{seen: {kind: K, metadata: {name: c}}}", `cannot check readiness of composed resource "seen": cannot run readiness check at index 0: status.l: not an object`,
		},
		"MatchInteger": {
			"MatchInteger never matches an observed number",
			"resources: [{name: seen, base: {kind: K}, readinessChecks: [{type: MatchInteger, fieldPath: status.v, matchInteger: 1}]}]", "",
			"{seen: {kind: K, metadata: {name: c}}}", `cannot check readiness of composed resource "seen": cannot run readiness check at index 0: status.v: not a (int64) number`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, request(t, base+"\n"+tc.more+"\n"+"input: "+braced(tc.input)))
			if (tc.results == "") != (len(got.GetResults()) == 0) || tc.results != "" && !strings.Contains(unspaced(last(got)), unspaced(tc.results)) {
				t.Errorf("%s: got %v, want %q", tc.reason, got.GetResults(), tc.results)
			}
			if tc.want != "" {
				compare(t, tc.reason, tc.want, got)
			}
		})
	}
}

func compare(t *testing.T, reason, want string, got *fnv1.RunFunctionResponse) {
	t.Helper()
	var w map[string]any
	e2e.NoError(t, yaml.Unmarshal([]byte(want), &w))
	resources := map[string]any{}
	for name, r := range got.GetDesired().GetResources() {
		resources[name] = r.GetResource().AsMap()
	}
	e2e.Equal(t, reason, w, resources)
}

// TestLeak checks that a fatal response has new connection details if the desired
// XR had some before. The rest of the desired state does not change.
func TestLeak(t *testing.T) {
	const input = `{resources: [{name: seen, base: {kind: K}, connectionDetails: [{name: new, type: FromConnectionSecretKey, fromConnectionSecretKey: k}]}, {name: bad}]}`
	before := request(t, base+"desired: {composite: {resource: {a: 1}, ready: READY_TRUE, connectionDetails: {old: eA==}}, resources: {x: {connectionDetails: {y: eA==}}}}\ninput: "+input)
	got := run(t, before).GetDesired()
	if string(got.GetComposite().GetConnectionDetails()["new"]) != "v1" || len(got.GetComposite().GetConnectionDetails()) != 2 {
		t.Errorf("got connection details %v", got.GetComposite().GetConnectionDetails())
	}
	if got.GetComposite().GetReady() != fnv1.Ready_READY_TRUE || len(got.GetResources()["x"].GetConnectionDetails()) != 1 {
		t.Errorf("other parts of the desired state changed: %v", got)
	}
}

// TestOddities checks that each warning about an input is sent only once, even if
// several requests with this input run concurrently.
func TestOddities(t *testing.T) {
	var mu sync.Mutex
	var warnings []string
	r := patchandtransform.New(func(e progress.Event) {
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, e.Text)
	}, true)
	const input = `{resources: [{name: r, base: {kind: K}, readinessChecks: [{type: None}, {type: MatchInteger, fieldPath: a, matchInteger: 1}], patches: [{fromFieldPath: spec.l, toFieldPath: b, transforms: [{type: string, string: {type: Join, join: {separator: ', '}}}]}]}]}`
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := r.RunFunction(t.Context(), "f", request(t, base+"input: "+input)); err != nil {
				t.Error(err)
			}
		})
	}
	e2e.Wait(t, &wg)
	want := []string{
		`composed resource "r", readiness check at index 1: MatchInteger never passes, because function-patch-and-transform does not accept an observed number as an integer`,
		`composed resource "r", patch at index 0: the transform Join removes only one byte from the end, although its separator ", " is longer`,
	}
	e2e.Equal(t, "each warning is sent once", want, warnings)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := patchandtransform.New(nil, true).RunFunction(ctx, "f", request(t, base+"input: {resources: [{name: r, base: {kind: K}}]}"))
	e2e.ErrorIs(t, "RunFunction returns the cause of its context", err, cause)
}

// TestHostile checks that hostile inputs use limited memory, whether they succeed or fail.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("it reaches limits of many megabytes")
	}
	list, keys := make([]any, 20_000), map[string]any{}
	for i := range list {
		list[i] = map[string]any{"k": i}
		keys[fmt.Sprint("key ", i)] = list[i]
	}
	wildcard := func(from string, over any) string {
		elements := e2e.Must(json.Marshal(over))(t)
		return fmt.Sprintf("{resources: [{name: r, base: {kind: K, l: %s}, patches: [{fromFieldPath: %s, toFieldPath: 'l[*].k'}]}]}", elements, from)
	}
	cases := map[string]struct{ reason, input, want string }{
		"Wildcard":      {"twenty thousand elements are permitted", wildcard("spec.num", keys), ""},
		"WildcardList":  {"a list index has a maximum", wildcard("spec.num", list), "is greater than max allowed index 1024"},
		"WildcardLarge": {"the memory of the patches is limited", wildcard("spec.big", keys), "the output of the patches exceeds 256 MiB"},
		"PatchSets":     {"the number of patches is limited, including patches of patch sets", "{patchSets: [{name: p, patches: [" + strings.Repeat("{fromFieldPath: a},", 1000) + "]}], resources: [{name: r, base: {kind: K}, patches: [" + strings.Repeat("{type: PatchSet, patchSetName: p},", 200) + "]}]}", "cannot resolve PatchSets: the resources have more than 100000 patches"},
		"LongWildcard":  {"the number of expanded path segments is limited", wildcardBelow(900, 20_000), "the expanded paths have more than 4194304 segments"},
		"Deep":          {"the length of a path is limited", "{resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.num, toFieldPath: '" + strings.Repeat("a.", 2000) + "a'}]}]}", "it has more than 1000 segments"},
		"Lists":         {"the nulls that extend lists are limited", "{resources: [{name: r, base: {kind: K}, patches: [" + padding(2) + "]}]}", "the patches extend lists by more than 1048576 nulls"},
		"ListsTwice":    {"nulls that an earlier patch added are not counted again", "{resources: [{name: r, base: {kind: K}, patches: [" + strings.Repeat(padding(1), 40) + "]}]}", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xr := e2e.Must(structpb.NewStruct(map[string]any{"spec": map[string]any{"num": 7, "big": strings.Repeat("x", 20_000)}}))(t)
			req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}}, Input: request(t, "input: "+tc.input).GetInput()}
			got := run(t, req)
			if tc.want == "" && len(got.GetResults()) > 0 || tc.want != "" && !strings.Contains(last(got), tc.want) {
				t.Errorf("%s: got %.300v", tc.reason, got.GetResults())
			}
		})
	}
}

// padding returns patches that each add 900 lists with 1024 nulls.
func padding(patches int) string {
	var all strings.Builder
	for i := range patches {
		fmt.Fprintf(&all, "{fromFieldPath: spec.num, toFieldPath: 'a%d%s'},", i, strings.Repeat("[1024]", 900))
	}
	return all.String()
}

// wildcardBelow returns an input with a wildcard path that has the given number
// of segments and expands to the given number of keys.
func wildcardBelow(segments, keys int) string {
	var object strings.Builder
	for i := range keys {
		fmt.Fprintf(&object, "k%d: 1,", i)
	}
	return "{resources: [{name: r, base: {kind: K, a: " + strings.Repeat("{a: ", segments) + "{" + object.String() + "}" + strings.Repeat("}", segments) +
		"}, patches: [{fromFieldPath: spec.num, toFieldPath: 'a" + strings.Repeat(".a", segments) + "[*]'}]}]}"
}

// TestSecretReference checks which Secret gets the connection details of an XR.
func TestSecretReference(t *testing.T) {
	const base = `
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: Pier, metadata: {name: p, namespace: n}, spec: {crossplane: {}, num: 7%s}}}
desired: {composite: {connectionDetails: {a: eA==}}}
input: {environment: {patches: [{fromFieldPath: a}]}, writeConnectionSecretToRef: {name: given, patches: [%s]}}
`
	combine := func(rest string) string {
		return "{type: CombineFromComposite, toFieldPath: name, combine: {variables: [{fromFieldPath: metadata.name}]" + rest + "}}"
	}
	cases := map[string]struct{ reason, spec, patches, want, wantErr string }{
		"Input":      {"the input names the Secret", "", "", "{name: given}", ""},
		"Null":       {"a null reference of the XR results in a Secret without metadata", ", writeConnectionSecretToRef: null", "", "", ""},
		"Capitals":   {"field names are case-sensitive", ", writeConnectionSecretToRef: {Name: x, namespace: ns}", "", "{namespace: ns}", ""},
		"Kind":       {"patches apply to a SecretReference", "", "{fromFieldPath: spec.num, toFieldPath: kind, policy: {fromFieldPath: Required}}", "", `cannot apply patch type FromCompositeFieldPath at index 0: cannot patch to object: Object 'Kind' is missing in '{"apiVersion":"v1","kind":7,"name":"given","namespace":""}'`},
		"NoStrategy": {"a combination needs a strategy", "", combine(""), "", "cannot apply patch type CombineFromComposite at index 0: combine strategy  is not supported"},
		"NoString":   {"a combination needs a format", "", combine(", strategy: string"), "", "given combine strategy string requires configuration"},
		"Policy":     {"a patch with an unknown policy is required", "", "{fromFieldPath: spec.none, toFieldPath: name, policy: {fromFieldPath: Bogus}}", "", "spec.none: no such field"},
		"Optional":   {"an optional patch may fail for any reason", "", "{fromFieldPath: 'spec..', toFieldPath: name, policy: {fromFieldPath: Optional}}", "{name: given}", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, request(t, fmt.Sprintf(base, tc.spec, tc.patches)))
			if tc.wantErr != "" {
				if !strings.HasPrefix(last(rsp), "cannot compose connection secret: ") || !strings.Contains(last(rsp), tc.wantErr) {
					t.Errorf("%s: got %v", tc.reason, rsp.GetResults())
				}
				return
			}
			var want any
			if tc.want != "" {
				want = request(t, "input: "+tc.want).GetInput().AsMap()
			}
			got := rsp.GetDesired().GetResources()["p-connection-secret"].GetResource().AsMap()["metadata"]
			e2e.Equal(t, fmt.Sprintf("%s: %v", tc.reason, rsp.GetResults()), want, got)
		})
	}
}

// FuzzFunction checks that no input causes a panic, and that every response can be encoded.
func FuzzFunction(f *testing.F) {
	for _, seed := range []string{
		"{resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.s, toFieldPath: 'a[0].b'}]}]}",
		"{resources: [{name: seen, base: {kind: K}, connectionDetails: [{name: x, type: FromFieldPath, fromFieldPath: status.l}], readinessChecks: [{type: MatchTrue, fieldPath: status.ok}]}]}",
		"{environment: {patches: [{fromFieldPath: spec.s, toFieldPath: e}, {type: ToCompositeFieldPath, fromFieldPath: e}]}}",
		"{patchSets: [{name: p, patches: [{fromFieldPath: spec.num, toFieldPath: 'm[*]'}]}], resources: [{name: r, base: {kind: K, m: [1]}, patches: [{type: PatchSet, patchSetName: p}]}], writeConnectionSecretToRef: {name: x}}",
		"{resources: [{name: r, base: {kind: K, l: [1]}, patches: [{type: CombineFromComposite, combine: {strategy: string, string: {fmt: '%s %5d'}, variables: [{fromFieldPath: spec.s}, {fromFieldPath: spec.num}]}, toFieldPath: l, policy: {toFieldPath: AppendArray, fromFieldPath: Required}}]}]}",
	} {
		f.Add(seed)
	}
	r := patchandtransform.New(nil, true)
	f.Fuzz(func(t *testing.T, text string) {
		var input map[string]any
		if yaml.Unmarshal([]byte(text), &input) != nil {
			return
		}
		s, err := structpb.NewStruct(input)
		if err != nil {
			return
		}
		req := request(t, base)
		req.Input = s
		rsp := e2e.Must(r.RunFunction(t.Context(), "f", req))(t)
		e2e.NoError(t, e2e.Err(protojson.Marshal(rsp)))
	})
}

func run(t *testing.T, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	return e2e.Must(patchandtransform.New(nil, true).RunFunction(t.Context(), "f", req))(t)
}

// unspaced removes the spaces that protojson writes into JSON in one build and not in another.
func unspaced(text string) string { return strings.ReplaceAll(text, `, "`, `,"`) }

func last(rsp *fnv1.RunFunctionResponse) string {
	if n := len(rsp.GetResults()); n > 0 {
		return rsp.GetResults()[n-1].GetMessage()
	}
	return ""
}

func request(t *testing.T, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	return e2e.Must(functiontest.ParseRequest([]byte(text)))(t)
}

func braced(text string) string {
	if strings.HasPrefix(text, "{") {
		return text
	}
	return "{" + text + "}"
}
