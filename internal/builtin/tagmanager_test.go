package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// tagManagerRequest parses a request. It has a desired bucket b with tags, and an input.
func tagManagerRequest(t testing.TB, input, tags, more string) *fnv1.RunFunctionRequest {
	t.Helper()
	req := request(t, "{input: "+input+", desired: {resources: {b: {resource: {apiVersion: s3.aws.upbound.io/v1, kind: Bucket, spec: {forProvider: {tags: "+tags+"}}}}}}}")
	proto.Merge(req, request(t, more))
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
		"IgnoreNoPath": {"an entry without a path is not an error if no tags are observed", "{ignoreTags: [{type: FromCompositeFieldPath}]}", "{a: x}", "{}", "{a: x}"},
		"RemoveNull":   {"null replaces an earlier list", "{removeTags: [{type: FromCompositeFieldPath, fromFieldPath: k}, {type: FromCompositeFieldPath, fromFieldPath: z}]}", "{a: x}", "observed: {composite: {resource: {k: [a], z: null}}}", "{a: x}"},
		"RemoveText":   {"a text does not replace an earlier list", "{removeTags: [{type: FromCompositeFieldPath, fromFieldPath: k}, {type: FromCompositeFieldPath, fromFieldPath: z}]}", "{a: x}", "observed: {composite: {resource: {k: [a], z: a}}}", "{}"},
		"RemoveNone":   {"null remains if nothing is removed", "{removeTags: [{keys: [a]}]}", "null", "{}", "null"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, named(t, "tag-manager", ""), tagManagerRequest(t, tc.input, tc.tags, tc.more))
			got := sdk.At(rsp.GetDesired().GetResources()["b"].GetResource(), "spec", "forProvider", "tags")
			want := object(t, "{tags: "+tc.want+"}").GetFields()["tags"]
			if !proto.Equal(want, got) || len(rsp.GetResults()) != 1 || rsp.GetResults()[0].GetSeverity() != fnv1.Severity_SEVERITY_NORMAL {
				t.Errorf("%s: got %v, want %v, results %v", tc.reason, got, want, rsp.GetResults())
			}
		})
	}
}

func TestTagManagerSpecIsNoObject(t *testing.T) {
	for _, body := range []string{"{spec: null}", "{spec: [1]}", "{spec: {forProvider: text}}", "{spec: {forProvider: null}}"} {
		req := tagManagerRequest(t, "{addTags: [{tags: {a: b}}]}", "{}", "{}")
		bucket := req.GetDesired().GetResources()["b"].GetResource()
		bucket.Fields["spec"] = object(t, body).Fields["spec"]
		if got := respond(t, named(t, "tag-manager", ""), req).GetDesired().GetResources()["b"].GetResource(); !proto.Equal(bucket, got) {
			t.Errorf("%s: got %v", body, got)
		}
	}
}

func TestTagManagerVersions(t *testing.T) {
	const environment = "{addTags: [{type: FromEnvironmentFieldPath, fromFieldPath: t}]}"
	const unknown = "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.ManagedTags from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.ManagedTags: json: cannot unmarshal JSON string into Go v1beta1.ManagedTags: unknown object member name \"removeTags\""
	cases := map[string]struct{ reason, version, input, want string }{
		"NoRemove":      {"removeTags is unknown before v0.3.0", "v0.2.0", "{removeTags: [{keys: [x]}]}", unknown},
		"Remove":        {"v0.3.0 has removeTags", "v0.3.0", "{removeTags: [{keys: [x]}]}", `"tags":{}`},
		"NoEnvironment": {"FromEnvironmentFieldPath is an unknown type before v0.8.0", "v0.7.2", environment, `"tags":{"x":"v"}`},
		"Environment":   {"v0.8.0 has FromEnvironmentFieldPath", "v0.8.0", environment, `"tags":{"a":"b","x":"v"}`},
		"Branch":        {"the branch has all fields", "main", "{removeTags: [{keys: [x]}]}", `"tags":{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, named(t, "tag-manager", tc.version), tagManagerRequest(t, tc.input, "{x: v}", "context: {apiextensions.crossplane.io/environment: {t: {a: b}}}"))
			tags := e2e.Must(rsp.GetDesired().GetResources()["b"].GetResource().MarshalJSON())(t)
			got := strings.ReplaceAll(string(tags), " ", "") + results(rsp)
			e2e.Has(t, tc.reason, got, tc.want)
		})
	}
}

// TestTagManagerIgnoresResource checks which marks of a resource a version reads.
func TestTagManagerIgnoresResource(t *testing.T) {
	const mark = "{tag-manager.fn.crossplane.io/ignore-resource: 'True'}"
	cases := map[string]struct{ reason, version, marks, want string }{
		"OldLabel":      {"v0.7.0 reads the label", "v0.7.0", "{labels: " + mark + "}", "{}"},
		"OldAnnotation": {"v0.7.0 does not read the annotation", "v0.7.0", "{annotations: " + mark + "}", "{a: b}"},
		"OldBoth":       {"in v0.7.0, an annotation does not hide the label", "v0.7.0", "{labels: " + mark + ", annotations: {tag-manager.fn.crossplane.io/ignore-resource: 'no'}}", "{}"},
		"Annotation":    {"v0.8.0 reads the annotation", "v0.8.0", "{annotations: " + mark + "}", "{}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := tagManagerRequest(t, "{addTags: [{tags: {a: b}}]}", "{}", "desired: {resources: {b: {resource: {metadata: "+tc.marks+"}}}}")
			bucket := req.GetDesired().GetResources()["b"].GetResource()
			bucket.Fields["apiVersion"], bucket.Fields["kind"] = structpb.NewStringValue("s3.aws.upbound.io/v1"), structpb.NewStringValue("Bucket")
			bucket.Fields["spec"] = object(t, "{spec: {forProvider: {tags: {}}}}").Fields["spec"]
			got := sdk.At(respond(t, named(t, "tag-manager", tc.version), req).GetDesired().GetResources()["b"].GetResource(), "spec", "forProvider", "tags")
			if want := object(t, "{tags: "+tc.want+"}").GetFields()["tags"]; !proto.Equal(want, got) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, want)
			}
		})
	}
}

// TestTagManagerKinds compares the number of tagged kinds with the number in the real function, in
// all API groups of providers and services.
func TestTagManagerKinds(t *testing.T) {
	groups, kinds := builtin.CountKinds()
	e2e.Equal(t, "the groups are as many as in the real function", 242, groups)
	e2e.Equal(t, "the kinds are as many as in the real function", 833, kinds)
}
