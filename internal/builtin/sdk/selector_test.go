package sdk_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestProtocol(t *testing.T) {
	found := &fnv1.Resources{Items: []*fnv1.Resource{{Resource: object(t, "{a: 1}")}}}
	selectors := map[string]*fnv1.ResourceSelector{"k": {Kind: "K"}}
	for p, field := range map[sdk.Protocol]string{sdk.Required: "resources", sdk.Extra: "extra_resources"} {
		rsp := &fnv1.RunFunctionResponse{}
		p.Require(rsp, selectors)
		if got := rsp.GetRequirements().String(); !strings.HasPrefix(got, field+":{") {
			t.Errorf("%s: got requirements %s", field, got)
		}
		if p.Require(rsp, nil); rsp.GetRequirements() == nil || proto.Size(rsp.GetRequirements()) > 0 {
			t.Errorf("%s: got requirements %v for no selectors", field, rsp.GetRequirements())
		}
	}
	req := &fnv1.RunFunctionRequest{RequiredResources: map[string]*fnv1.Resources{"k": found}}
	if len(sdk.Required.Resources(req)) != 1 || len(sdk.Extra.Resources(req)) != 0 {
		t.Errorf("got %v and %v", sdk.Required.Resources(req), sdk.Extra.Resources(req))
	}
}

func TestMatches(t *testing.T) {
	path, bad, list, value := "spec.zone", "spec..zone", "spec.list", "v"
	xr := func() map[string]any {
		return map[string]any{"spec": map[string]any{"zone": "south", "list": []any{}, "none": nil}}
	}
	const fromXR = "FromCompositeFieldPath"
	cases := map[string]struct {
		reason, kind string
		ref          *sdk.Reference
		labels       []sdk.LabelMatcher
		want, err    string
	}{
		"Reference":  {reason: "a reference matches a name", ref: &sdk.Reference{Name: "a"}, want: `match_name:"a"`},
		"NoName":     {reason: "a name may be empty", kind: "Reference", ref: &sdk.Reference{}, want: `match_name:""`},
		"NoRef":      {reason: "a reference needs ref", kind: "Reference", err: "f.ref must be set for type Reference"},
		"Unknown":    {reason: "another type matches nothing", kind: "selector"},
		"Value":      {reason: "the last of equal keys is used", kind: "Selector", labels: []sdk.LabelMatcher{{Type: fromXR, Key: "k", ValueFromFieldPath: &path}, {Type: "Value", Key: "k", Value: &value}}, want: `value:"v"`},
		"Path":       {reason: "a label has the value at a path of the XR", kind: "Selector", labels: []sdk.LabelMatcher{{Key: "k", ValueFromFieldPath: &path}}, want: `value:"south"`},
		"Odd":        {reason: "a label of another type is ignored", kind: "Selector", labels: []sdk.LabelMatcher{{Type: "Odd", Key: "k"}}},
		"Unparsable": {reason: "an invalid path is an error", kind: "Selector", labels: []sdk.LabelMatcher{{Key: "k", ValueFromFieldPath: &bad}}, err: `cannot get value from field path "spec..zone": cannot parse path "spec..zone": unexpected '.' at position 5`},
		"List":       {reason: "a value that is not a string is an error", kind: "Selector", labels: []sdk.LabelMatcher{{Key: "k", ValueFromFieldPath: &list}}, err: `cannot get value from field path "spec.list": spec.list: not a string`},
		"Optional":   {reason: "any error drops an optional label", kind: "Selector", labels: []sdk.LabelMatcher{{Key: "k", ValueFromFieldPath: &bad, FromFieldPathPolicy: "Optional"}}},
		"Lowercase":  {reason: "a policy in lower case is not Optional", kind: "Selector", labels: []sdk.LabelMatcher{{Key: "k", ValueFromFieldPath: &bad, FromFieldPathPolicy: "optional"}}, err: `cannot get value from field path "spec..zone"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := &fnv1.ResourceSelector{}
			matches, err := sdk.Source{Type: tc.kind, Ref: tc.ref}.Matches("f", &sdk.Selector{MatchLabels: tc.labels}, got, xr)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.err)) {
				t.Errorf("%s: got error %v", tc.reason, err)
			}
			if text := fmt.Sprint(got); matches != (tc.want != "") || !strings.Contains(text, tc.want) {
				t.Errorf("%s: got %s, want %s", tc.reason, text, tc.want)
			}
		})
	}
}

func TestPick(t *testing.T) {
	two := uint64(2)
	cases := map[string]struct{ reason, path, items, want, err string }{
		"Names":   {"items are sorted by name by default", "", "b a c", "", ""},
		"Numbers": {"a missing number is 0", "w", "{w: 10} {} {w: -1} {w: null}", "{w: -1} {}", ""},
		"Texts":   {"a missing text is empty, and texts compare by bytes", "w", "{w: a} {w: B} {}", "{} {w: B}", ""},
		"None":    {"items without values keep their order", "x", "{w: 2} {w: 1}", "{w: 2} {w: 1}", ""},
		"Mixed":   {"values of two types are an error", "w", "{w: 1} {w: true}", "", `cannot sort values of different types "float64" and "bool"`},
		"Bools":   {"booleans are an error", "w", "{w: true} {}", "", `unsupported type "T" for sorting`},
		"OneBool": {"one item is not compared", "w", "{w: true}", "{w: true}", ""},
		"Index":   {"an index of an object is an error", "[0]", "{w: 1}", "", ": not an array"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var items []*fnv1.Resource
			texts := map[*fnv1.Resource]string{}
			for _, text := range split(tc.items) {
				if !strings.HasPrefix(text, "{") {
					text = "{metadata: {name: " + text + "}}"
				}
				r := &fnv1.Resource{Resource: object(t, text)}
				items, texts[r] = append(items, r), text
			}
			picked, err := (&sdk.Selector{MaxMatch: &two, SortByFieldPath: tc.path}).Pick(items, func(reflect.Type) string { return "T" })
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || err.Error() != tc.err) {
				t.Fatalf("%s: got error %v, want %s", tc.reason, err, tc.err)
			}
			var got []string
			for _, r := range picked {
				got = append(got, texts[r])
			}
			want := tc.want
			if tc.path == "" {
				want = "{metadata: {name: a}} {metadata: {name: b}}"
			}
			e2e.Equal(t, tc.reason, want, strings.Join(got, " "))
		})
	}
}

// split splits a list of objects and names at the spaces between them.
func split(text string) []string {
	return strings.Split(strings.NewReplacer("} ", "}|", "b a c", "b|a|c").Replace(text), "|")
}
