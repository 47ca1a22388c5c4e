package builtin_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const tagManagerGolden = "../../testdata/golden/"

func TestTagManagerGolden(t *testing.T) {
	functiontest.Golden(t, tagManagerGolden+"tag-manager", builtin.NewTagManager(""))
}

// TestTagManagerCrashes checks inputs that crash the real function. In the builtin, they cause a fatal
// result.
func TestTagManagerCrashes(t *testing.T) {
	cases := map[string]string{
		"fromenv-no-path": "removeTags[0]: fromFieldPath is required for type FromEnvironmentFieldPath",
		"fromxr-no-path":  "addTags[0]: fromFieldPath is required for type FromCompositeFieldPath",
		"ignore-no-path":  "ignoreTags[0]: fromFieldPath is required for type FromCompositeFieldPath",
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			req := functiontest.Request(t, filepath.Join(tagManagerGolden+"tag-manager-crash", name, "request.yaml"))
			rsp := manageTags(t, "", req)
			if got := rsp.GetResults(); len(got) != 1 || got[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL || got[0].GetMessage() != want {
				t.Errorf("got %v, want %s", got, want)
			}
			if entry, _, _ := strings.Cut(want, ":"); builtin.LocateTagSource(want) != entry {
				t.Errorf("got entry %q, want %q", builtin.LocateTagSource(want), entry)
			}
			if !proto.Equal(rsp.GetDesired(), req.GetDesired()) {
				t.Errorf("the desired state was changed: %v", rsp.GetDesired())
			}
		})
	}
}

func manageTags(t testing.TB, version string, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp, err := builtin.NewTagManager(version).RunFunction(t.Context(), "function-tag-manager", req)
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}

// tagManagerRequest parses a request. It has a desired bucket b with tags, and an input.
func tagManagerRequest(t testing.TB, input, tags, more string) *fnv1.RunFunctionRequest {
	t.Helper()
	text := "{input: " + input + ", desired: {resources: {b: {resource: {apiVersion: s3.aws.upbound.io/v1, kind: Bucket, spec: {forProvider: {tags: " + tags + "}}}}}}}"
	req := &fnv1.RunFunctionRequest{}
	for _, part := range []string{text, more} {
		j, err := yaml.YAMLToJSON([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		next := &fnv1.RunFunctionRequest{}
		if err := protojson.Unmarshal(j, next); err != nil {
			t.Fatal(err)
		}
		proto.Merge(req, next)
	}
	return req
}

// TestTagManagerRules tests rules that no golden case has.
func TestTagManagerRules(t *testing.T) {
	const seen = "observed: {resources: {b: {resource: {status: {atProvider: {tags: %s}}}}}}"
	cases := map[string]struct{ reason, input, tags, more, want string }{
		"Nothing":      {"an entry without tags leaves null", "{addTags: [{type: FromMoon}]}", "null", "{}", "null"},
		"Empty":        {"empty tags in an entry make an empty object of null", "{addTags: [{tags: {}}]}", "null", "{}", "{}"},
		"Kept":         {"empty tags remain an empty object", "{}", "{}", "{}", "{}"},
		"Text":         {"a text at the path has no tags", "{addTags: [{type: FromCompositeFieldPath, fromFieldPath: a}]}", "{x: v}", "observed: {composite: {resource: {a: b}}}", "{x: v}"},
		"BadPath":      {"an invalid path has no tags", "{addTags: [{type: FromCompositeFieldPath, fromFieldPath: 'a[['}]}", "{x: v}", "{}", "{x: v}"},
		"EmptyPath":    {"an empty path has no tags", "{addTags: [{type: FromCompositeFieldPath, fromFieldPath: ''}]}", "{x: v}", "{}", "{x: v}"},
		"Environment":  {"a number in the environment invalidates all tags at the path", "{addTags: [{type: FromEnvironmentFieldPath, fromFieldPath: t}]}", "{x: v}", "context: {apiextensions.crossplane.io/environment: {t: {a: b, n: 1}}}", "{x: v}"},
		"FillEmpty":    {"a later entry fills an empty value", "{addTags: [{tags: {a: ''}}, {tags: {a: b}}]}", "{}", "{}", "{a: b}"},
		"RetainEmpty":  {"a value that is not a string is filled", "{addTags: [{type: FromValue, policy: Retain, tags: {a: b}}]}", "{a: 1}", "{}", "{a: b}"},
		"ObservedOdd":  {"observed tags with a number are ignored", "{ignoreTags: [{keys: [a]}]}", "{a: x}", fmt.Sprintf(seen, "{a: v, n: 1}"), "{a: x}"},
		"ObservedVoid": {"an empty observed value replaces", "{ignoreTags: [{keys: [a]}]}", "{a: x}", fmt.Sprintf(seen, "{a: ''}"), "{a: ''}"},
		"KeysOdd":      {"the strings of a list in the composite resource are keys", "{ignoreTags: [{type: FromCompositeFieldPath, fromFieldPath: k}]}", "{}", "{observed: {composite: {resource: {k: [1, a]}}, resources: {b: {resource: {status: {atProvider: {tags: {a: v}}}}}}}}", "{a: v}"},
		"KeysOddEnv":   {"a number invalidates a list of keys in the environment", "{ignoreTags: [{type: FromEnvironmentFieldPath, fromFieldPath: k}]}", "{a: x}", "{context: {apiextensions.crossplane.io/environment: {k: [1, a]}}, observed: {resources: {b: {resource: {status: {atProvider: {tags: {a: v}}}}}}}}", "{a: x}"},
		"IgnoreNoPath": {"an entry without a path is no error if no tags are observed", "{ignoreTags: [{type: FromCompositeFieldPath}]}", "{a: x}", "{}", "{a: x}"},
		"RemoveNull":   {"null replaces an earlier list", "{removeTags: [{type: FromCompositeFieldPath, fromFieldPath: k}, {type: FromCompositeFieldPath, fromFieldPath: z}]}", "{a: x}", "observed: {composite: {resource: {k: [a], z: null}}}", "{a: x}"},
		"RemoveText":   {"a text does not replace an earlier list", "{removeTags: [{type: FromCompositeFieldPath, fromFieldPath: k}, {type: FromCompositeFieldPath, fromFieldPath: z}]}", "{a: x}", "observed: {composite: {resource: {k: [a], z: a}}}", "{}"},
		"RemoveNone":   {"null remains if nothing is removed", "{removeTags: [{keys: [a]}]}", "null", "{}", "null"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := tagManagerRequest(t, tc.input, tc.tags, tc.more)
			before := proto.CloneOf(req)
			rsp := manageTags(t, "", req)
			object := rsp.GetDesired().GetResources()["b"].GetResource()
			got := object.GetFields()["spec"].GetStructValue().GetFields()["forProvider"].GetStructValue().GetFields()["tags"]
			want := &structpb.Value{}
			if j, err := yaml.YAMLToJSON([]byte(tc.want)); err != nil || protojson.Unmarshal(j, want) != nil {
				t.Fatal(tc.want, err)
			}
			if !proto.Equal(want, got) || len(rsp.GetResults()) != 1 || rsp.GetResults()[0].GetSeverity() != fnv1.Severity_SEVERITY_NORMAL {
				t.Errorf("%s: got %v, want %v, results %v", tc.reason, got, want, rsp.GetResults())
			}
			if !proto.Equal(before, req) {
				t.Error("the request was changed")
			}
		})
	}
}

func TestTagManagerSpecIsNoObject(t *testing.T) {
	for _, body := range []string{"{spec: null}", "{spec: [1]}", "{spec: {forProvider: text}}", "{spec: {forProvider: null}}"} {
		req := tagManagerRequest(t, "{addTags: [{tags: {a: b}}]}", "{}", "{}")
		object := req.GetDesired().GetResources()["b"].GetResource()
		changed := &structpb.Struct{}
		if err := yaml.Unmarshal([]byte(body), changed); err != nil {
			t.Fatal(err)
		}
		object.Fields["spec"] = changed.Fields["spec"]
		if got := manageTags(t, "", req).GetDesired().GetResources()["b"].GetResource(); !proto.Equal(object, got) {
			t.Errorf("%s: got %v", body, got)
		}
	}
}

func TestTagManagerVersions(t *testing.T) {
	const environment = "{addTags: [{type: FromEnvironmentFieldPath, fromFieldPath: t}]}"
	const unknown = "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.ManagedTags from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.ManagedTags: json: cannot unmarshal JSON string into Go v1beta1.ManagedTags: unknown object member name \"removeTags\""
	cases := map[string]struct {
		reason  string
		version string
		input   string
		want    string
	}{
		"NoRemove":      {"removeTags is unknown before v0.3.0", "v0.2.0", "{removeTags: [{keys: [x]}]}", unknown},
		"Remove":        {"v0.3.0 has removeTags", "v0.3.0", "{removeTags: [{keys: [x]}]}", `"tags":{}`},
		"NoEnvironment": {"FromEnvironmentFieldPath is an unknown type before v0.8.0", "v0.7.2", environment, `"tags":{"x":"v"}`},
		"Environment":   {"v0.8.0 has FromEnvironmentFieldPath", "v0.8.0", environment, `"tags":{"a":"b","x":"v"}`},
		"Branch":        {"the branch has all fields", "main", "{removeTags: [{keys: [x]}]}", `"tags":{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := manageTags(t, tc.version, tagManagerRequest(t, tc.input, "{x: v}", "context: {apiextensions.crossplane.io/environment: {t: {a: b}}}"))
			tags, err := rsp.GetDesired().GetResources()["b"].GetResource().MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(tags), " ", "") + rsp.GetResults()[0].GetMessage()
			if !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %s", tc.reason, got)
			}
		})
	}
}

// TestTagManagerKinds compares the number of tagged kinds with that of the real function, in all API
// groups of providers and services.
func TestTagManagerKinds(t *testing.T) {
	groups, kinds := builtin.CountKinds()
	if groups != 242 || kinds != 833 {
		t.Errorf("got %d groups and %d kinds, want 242 and 833", groups, kinds)
	}
}

// FuzzTagManagerRun checks that no input and observed state crash the function or change the request,
// and that equal requests have equal responses.
func FuzzTagManagerRun(f *testing.F) {
	f.Add(`{"addTags": [{"type": "FromCompositeFieldPath", "fromFieldPath": "spec.t[0]", "policy": "Retain"}], "removeTags": [{"keys": ["a"]}]}`, `{"spec": {"t": [{"a": 1}]}}`, `{"status": {"atProvider": {"tags": {"a": "b"}}}}`)
	f.Add(`{"ignoreTags": [{"type": "FromEnvironmentFieldPath", "fromFieldPath": "k"}, {"keys": [null]}]}`, `{"k": ["a"]}`, `{"status": []}`)
	f.Add(`{"addTags": null, "ignoreTags": [{"type": "FromCompositeFieldPath"}]}`, `{}`, `{"spec": null, "metadata": {"labels": 1, "annotations": {"a": null}}}`)
	f.Fuzz(func(t *testing.T, input, composite, resource string) {
		in, xr, object := &structpb.Struct{}, &structpb.Struct{}, &structpb.Struct{}
		if protojson.Unmarshal([]byte(input), in) != nil || protojson.Unmarshal([]byte(composite), xr) != nil || protojson.Unmarshal([]byte(resource), object) != nil {
			t.Skip("not JSON")
		}
		bucket := proto.CloneOf(object)
		if bucket.Fields == nil {
			bucket.Fields = map[string]*structpb.Value{}
		}
		bucket.Fields["apiVersion"], bucket.Fields["kind"] = structpb.NewStringValue("s3.aws.upbound.io/v1"), structpb.NewStringValue("Bucket")
		req := &fnv1.RunFunctionRequest{
			Input:    in,
			Context:  &structpb.Struct{Fields: map[string]*structpb.Value{"apiextensions.crossplane.io/environment": structpb.NewStructValue(xr)}},
			Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}, Resources: map[string]*fnv1.Resource{"a": {Resource: object}, "b": {}}},
			Desired:  &fnv1.State{Resources: map[string]*fnv1.Resource{"a": {Resource: bucket}, "b": {Resource: bucket}, "c": {}}},
		}
		before := proto.CloneOf(req)
		got := manageTags(t, "", req)
		if again := manageTags(t, "", req); !proto.Equal(got, again) || !proto.Equal(before, req) {
			t.Errorf("got %v, then %v", got, again)
		}
	})
}

func BenchmarkTagManagerRun(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			req := tagManagerRequest(b, "{addTags: [{type: FromValue, policy: Retain, tags: {team: shop, tier: gold}}, {type: FromCompositeFieldPath, fromFieldPath: spec.tags}], ignoreTags: [{keys: [external]}], removeTags: [{keys: [old]}]}",
				"{owner: ada, old: x}", "observed: {composite: {resource: {apiVersion: example.org/v1, kind: Shop, metadata: {name: a}, spec: {tags: {zone: north}}}}, resources: {b: {resource: {status: {atProvider: {tags: {external: e}}}}}}}")
			for i := range n - 1 {
				name := fmt.Sprint(i)
				req.Desired.Resources[name], req.Observed.Resources[name] = req.Desired.Resources["b"], req.Observed.Resources["b"]
			}
			b.ReportAllocs()
			for b.Loop() {
				if rsp := manageTags(b, "", req); len(rsp.GetDesired().GetResources()) != n || rsp.GetResults()[0].GetSeverity() != fnv1.Severity_SEVERITY_NORMAL {
					b.Fatal(rsp)
				}
			}
		})
	}
}
