package builtin_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// celFilterRequest returns a request with the desired resources a and b, and an input in JSON.
func celFilterRequest(t testing.TB, input string) *fnv1.RunFunctionRequest {
	t.Helper()
	return request(t, `{"input": `+input+`, "observed": {"composite": {"resource": {"spec": {"size": 3}}}}, "desired": {"resources": {"a": {"ready": "READY_TRUE"}, "b": {}}}}`)
}

func TestCELFilterFilters(t *testing.T) {
	const decoding = "cannot get filters from *v1.RunFunctionRequest: cannot get function input *v1beta1.Filters from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Filters: json: "
	cases := map[string]struct {
		reason, version, input string
		want                   string // the names of the remaining resources
		fatal                  string
	}{
		"Flag":     {"a pattern may have flags", "", `{"filters": [{"name": "(?i)A", "expression": "false"}]}`, "b", ""},
		"Request":  {"an expression sees resources that earlier filters remove", "", `{"filters": [{"name": "a", "expression": "false"}, {"name": "b", "expression": "'a' in desired.resources"}]}`, "b", ""},
		"First":    {"the first fault is reported, in the order of the filters", "", `{"filters": [{"name": "a", "expression": "1 / 0 == 1"}, {"name": "(", "expression": "true"}]}`, "a b", "cannot evaluate CEL expression \"1 / 0 == 1\" for filter 0: cannot evaluate CEL program: division by zero"},
		"Pattern":  {"a pattern is checked before its expression", "", `{"filters": [{"name": "(", "expression": "1 / 0 == 1"}]}`, "a b", "cannot compile regular expression \"^($\" for filter 0: error parsing regexp: missing closing ): `^($`"},
		"Field":    {"a field of a filter is decoded strictly", "", `{"filters": [{"nam": "a"}]}`, "a b", decoding + `cannot unmarshal Go value of type v1beta1.Filter: unknown name "nam"`},
		"Null":     {"a null is an absent field", "", `{"filters": null}`, "a b", ""},
		"Nowhere":  {"an extension library is not available", "", `{"filters": [{"name": "a", "expression": "'A'.lowerAscii() == 'a'"}]}`, "a b", `cannot evaluate CEL expression "'A'.lowerAscii() == 'a'" for filter 0: cannot type-check expression: ERROR: <input>:1:15: undeclared reference to 'lowerAscii'`},
		"Optional": {"optional fields are not enabled", "", `{"filters": [{"name": "a", "expression": "observed.?composite.hasValue()"}]}`, "a b", `cannot evaluate CEL expression "observed.?composite.hasValue()" for filter 0: cannot parse expression: ERROR: <input>:1:9: unsupported syntax '.?'`},
		"Types":    {"a type error has the types of v1", "v0.2.0", `{"filters": [{"name": "a", "expression": "observed == 1"}]}`, "a b", `cannot evaluate CEL expression "observed == 1" for filter 0: cannot type-check expression: ERROR: <input>:1:10: found no matching overload for '_==_' applied to '(apiextensions.fn.proto.v1.State, int)'`},
		"OldTypes": {"a type error of an older version has the types of v1beta1", "v0.1.1", `{"filters": [{"name": "a", "expression": "observed == 1"}]}`, "a b", `cannot evaluate CEL expression "observed == 1" for filter 0: cannot type-check expression: ERROR: <input>:1:10: found no matching overload for '_==_' applied to '(apiextensions.fn.proto.v1beta1.State, int)'`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, named(t, "cel-filter", tc.version), celFilterRequest(t, tc.input))
			fatal := results(rsp)
			if tc.fatal == "" && fatal != "" || !strings.HasPrefix(fatal, tc.fatal) {
				t.Errorf("%s: got %q, want %q", tc.reason, fatal, tc.fatal)
			}
			e2e.Equal(t, tc.reason, tc.want, strings.Join(slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())), " "))
		})
	}
}
