package sdk_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestTo(t *testing.T) {
	req := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "t"}, Desired: &fnv1.State{}, Context: object(t, "{a: 1}")}
	rsp := sdk.Fatal(sdk.Warn(sdk.To(req), errors.New("one")), errors.New("two"))
	if rsp.GetMeta().GetTag() != "t" || rsp.GetMeta().GetTtl().AsDuration() != sdk.TTL || rsp.GetDesired() != req.GetDesired() || rsp.GetContext() != req.GetContext() {
		t.Errorf("got %v", rsp)
	}
	want := []fnv1.Severity{fnv1.Severity_SEVERITY_WARNING, fnv1.Severity_SEVERITY_FATAL}
	for i, r := range rsp.GetResults() {
		if r.GetSeverity() != want[i] || r.GetTarget() != fnv1.Target_TARGET_COMPOSITE || r.Reason != nil {
			t.Errorf("got result %v", r)
		}
	}
	if got := sdk.To(&fnv1.RunFunctionRequest{}); got.Desired != nil || got.Context != nil || got.GetMeta().GetTag() != "" {
		t.Errorf("an empty request: got response %v", got)
	}
}

type Sample struct {
	Name  string   `json:"name"`
	Count *int64   `json:"count"`
	List  []Sample `json:"list"`
	Late  int64    `json:"late"`

	Private  private           `json:"private"`
	Metadata metav1.ObjectMeta `json:"metadata"`
}

type private struct{}

func TestDecode(t *testing.T) {
	const prefix = "cannot get function input *v1beta1.Sample from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Sample: json: "
	three := int64(3)
	cases := map[string]struct {
		reason, input string
		want          Sample
		wantErr       string
	}{
		"Fields":   {"fields have the names of the tags", "{name: a, list: [{name: b}]}", Sample{Name: "a", List: []Sample{{Name: "b"}}}, ""},
		"Nulls":    {"a null leaves the field unset", "{name: null, count: null, list: null}", Sample{}, ""},
		"Whole":    {"a float without a fraction is an integer", "{count: 3.0}", Sample{Count: &three}, ""},
		"Nothing":  {"a nil input is empty", "", Sample{}, ""},
		"Unknown":  {"an unknown field has the name of its Go type", "{list: [{}, {nam: a}]}", Sample{}, `cannot unmarshal Go value of type v1beta1.Sample: unknown name "nam"`},
		"Private":  {"an unknown field of a type without a known name has a path", "{private: {nam: a}}", Sample{}, `unknown field "private.nam"`},
		"Meta":     {"the error for an unknown field of metadata names the Kubernetes type", "{metadata: {nam: a}}", Sample{}, `cannot unmarshal Go value of type v1.ObjectMeta: unknown name "nam"`},
		"Absent":   {"a field that the version does not have is unknown", "{list: [{}, {late: 1}]}", Sample{}, `cannot unmarshal Go value of type v1beta1.Sample: unknown name "late"`},
		"Null":     {"a null in a field that the version does not have is unknown", "{list: [{late: null}]}", Sample{}, `cannot unmarshal Go value of type v1beta1.Sample: unknown name "late"`},
		"Present":  {"the version may have the field in another object", "{late: 2}", Sample{Late: 2}, ""},
		"Capitals": {"a name with other capitals is an unknown field", "{Name: a}", Sample{}, `cannot unmarshal Go value of type v1beta1.Sample: unknown name "Name"`},
		"Dot":      {"a name may have a dot", "{list.x: a}", Sample{}, `unknown field "list.x"`},
		"Fraction": {"a fraction is not an integer", "{count: 1.5}", Sample{}, "cannot unmarshal number 1.5"},
		"Large":    {"an integer has at most 64 bits", "{count: 9223372036854775808}", Sample{}, "cannot unmarshal number"},
		"Type":     {"a value must have the field's type", "{name: 1}", Sample{}, "cannot unmarshal number into"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var in *structpb.Struct
			if tc.input != "" {
				in = object(t, tc.input)
			}
			var got Sample
			err := sdk.Decode(in, &got, "list[].late")
			if tc.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), prefix+tc.wantErr) {
					t.Errorf("%s: got %v", tc.reason, err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestDecodeLacks: a field that a version lacks is unknown, even if it is null.
func TestDecodeLacks(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Absent":  {"an input without the field is valid", "{name: a, list: [{name: b}]}", ""},
		"Root":    {"the type of the input itself is named", "{count: 1}", `cannot unmarshal Go value of type v1beta1.Sample: unknown name "count"`},
		"Element": {"any element of a list may have the field", "{list: [{}, {list: null}]}", `cannot unmarshal Go value of type v1beta1.Sample: unknown name "list"`},
		"Unknown": {"a field that no version has is reported first", "{count: 1, x: 1}", `unknown name "x"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := sdk.Decode(object(t, tc.input), &Sample{}, "count", "list[].list")
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.want)) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestFieldNamed(t *testing.T) {
	const input = `{"b": {"x": {"y": 1}}, "a": [[], [{"x": 1}]], "c": {"deep": null}}`
	for name, want := range map[string]string{"x": "a[1][0].x", "y": "b.x.y", "deep": "c.deep", "a": "a", "none": ""} {
		e2e.Equal(t, "the first field of the name is found in the order of keys: "+name, want, sdk.FieldNamed([]byte(input), name))
	}
	e2e.Equal(t, "an input that is not an object", "", sdk.FieldNamed([]byte("[]"), "a"))
}

func TestSince(t *testing.T) {
	cases := map[string]struct {
		reason, version, since string
		want                   bool
	}{
		"Equal":      {"a version is since itself", "v0.7.0", "v0.7.0", true},
		"Earlier":    {"an earlier version is not", "v0.6.9", "v0.7.0", false},
		"Prerelease": {"a prerelease is later than -0", "v0.8.0-rc.1", "v0.8.0-0", true},
		"Branch":     {"the branch has what no release has", "main", "v0.8.0-0", true},
		"None":       {"no version is the newest release", "", "v0.7.1", true},
		"NoneBranch": {"the newest release lacks what only the branch has", "latest", "v0.8.0-0", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, sdk.Since(tc.version, "v0.7.1", tc.since))
		})
	}
}

func TestStruct(t *testing.T) {
	got, err := sdk.Struct(map[string]any{
		"i": int64(7), "f": 1.5, "b": true, "n": nil, "s": "a\xff\xfeb", "k\xff": "", "l": []any{int64(1), map[string]any{}},
	})
	e2e.NoError(t, err)
	want := map[string]any{"i": 7.0, "f": 1.5, "b": true, "n": nil, "s": "a\ufffd\ufffdb", "k\ufffd": "", "l": []any{1.0, map[string]any{}}}
	e2e.Equal(t, "numbers become floats, and invalid UTF-8 is replaced", want, got.AsMap())
	for name, v := range map[string]any{
		"unsupported value: NaN": math.NaN(), "unsupported value: +Inf": []any{math.Inf(1)}, "unsupported type: int": map[string]any{"x": 1},
	} {
		e2e.Equal(t, "a value that JSON cannot have is an error", "json: "+name, fmt.Sprint(e2e.Err(sdk.Struct(map[string]any{"v": v}))))
	}
}

func TestConditionOf(t *testing.T) {
	cases := map[string]struct{ reason, object, want string }{
		"First":      {"the first condition of a type is used", `{status: {conditions: [{type: Synced, status: "False"}, {type: Ready, status: "True"}, {type: Ready, status: "False"}]}}`, "True"},
		"None":       {"a missing condition is Unknown", `{status: {conditions: []}}`, "Unknown"},
		"NullStatus": {"a status may be null", `{status: null}`, "Unknown"},
		"NoStatus":   {"without a status the result is empty", `{}`, ""},
		"TextStatus": {"a status must be an object", `{status: ok}`, ""},
		"TextList":   {"conditions must be a list", `{status: {conditions: {}}}`, ""},
		"Nulls":      {"nulls are ignored", `{status: {conditions: [null, {type: Ready, status: "True", message: null}]}}`, "True"},
		"More":       {"unknown fields may have any type", `{status: {conditions: [{type: Ready, status: "True", x: [1]}]}}`, "True"},
		"BadTime":    {"an invalid time in one condition invalidates all", `{status: {conditions: [{type: Ready, status: "True"}, {type: A, lastTransitionTime: noon}]}}`, ""},
		"BadStatus":  {"a condition's status must be a string", `{status: {conditions: [{type: Ready, status: true}]}}`, ""},
		"BadNumber":  {"an observed generation must be an integer", `{status: {conditions: [{type: Ready, status: "True", observedGeneration: 1.5}]}}`, ""},
		"NoObject":   {"a condition must be an object", `{status: {conditions: [{type: Ready, status: "True"}, 7]}}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, sdk.ConditionOf(object(t, tc.object), "Ready").Status)
		})
	}
}

func TestSum(t *testing.T) {
	texts := []string{
		"{}", "{a: null}", "{a: 0}", `{a: "0"}`, "{a: false}", "{a: true}", "{a: []}", "{a: {}}", "{a: [[]]}", "{a: [[], []]}", "{a: {b: 1}}", "{a: {}, b: 1}",
		"{a: [1, 2]}", "{a: [2, 1]}", "{a: [12]}", "{a: ab, b: c}", "{a: a, b: bc}", "{ab: a}", "{a: -0.5}", "{a: 0.5}",
	}
	seen := map[sdk.Sum]string{}
	for _, text := range texts {
		sum := sdk.SumOf(object(t, text))
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s have the same sum", other, text)
		}
		seen[sum] = text
		if again := sdk.SumOf(proto.CloneOf(object(t, text))); again != sum {
			t.Errorf("%s has two different sums", text)
		}
	}
	if sdk.SumOf(nil) != sdk.SumOf(object(t, "{}")) {
		t.Error("the sum of a nil input differs from the sum of an empty input")
	}
}

func object(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	var m map[string]any
	e2e.NoError(t, yaml.Unmarshal([]byte(text), &m))
	return e2e.Must(structpb.NewStruct(m))(t)
}

func TestAbsent(t *testing.T) {
	since := map[string]string{"old": "v0.1.0", "b[].new": "v0.3.0", "a": "v0.3.0", "branch": "v0.4.0-0"}
	cases := map[string]struct{ reason, version, want string }{
		"Older":  {"fields of later versions are absent, sorted", "v0.2.0", "a,b[].new,branch"},
		"Newest": {"the newest release does not have what only the branch has", "", "branch"},
		"Branch": {"the branch has all fields", "main", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, strings.Join(sdk.Absent(tc.version, "v0.3.0", since), ","))
		})
	}
}

func TestAnnotations(t *testing.T) {
	cases := map[string]struct {
		reason, object string
		want           map[string]string
	}{
		"Texts":  {"a null is an empty text", "{metadata: {annotations: {a: b, c: null}}}", map[string]string{"a": "b", "c": ""}},
		"Number": {"a number invalidates all annotations", "{metadata: {annotations: {a: b, c: 1}}}", nil},
		"None":   {"an object may have no metadata", "{metadata: []}", map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, sdk.Annotations(object(t, tc.object)))
		})
	}
}
