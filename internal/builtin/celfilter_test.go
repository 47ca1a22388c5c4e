package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const celFilterGolden = "../../testdata/golden/cel-filter"

func TestCELFilterGolden(t *testing.T) {
	functiontest.Golden(t, celFilterGolden, builtin.NewCELFilter(""))
}

// TestCELFilterGoldenOld compares an older version, whose messages differ only in texts about their
// types.
func TestCELFilterGoldenOld(t *testing.T) {
	functiontest.Golden(t, celFilterGolden, builtin.NewCELFilter("v0.1.1"))
}

// celFilterRequest returns a request with the desired resources a and b, and an input in JSON.
func celFilterRequest(t testing.TB, input string) *fnv1.RunFunctionRequest {
	t.Helper()
	req := &fnv1.RunFunctionRequest{}
	text := `{"input": ` + input + `, "observed": {"composite": {"resource": {"spec": {"size": 3}}}}, "desired": {"resources": {"a": {"ready": "READY_TRUE"}, "b": {}}}}`
	if err := protojson.Unmarshal([]byte(text), req); err != nil {
		t.Fatal(err)
	}
	return req
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
			req := celFilterRequest(t, tc.input)
			before := proto.CloneOf(req)
			rsp, err := builtin.NewCELFilter(tc.version).RunFunction(t.Context(), "f", req)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(before, req) {
				t.Errorf("%s: the request was changed", tc.reason)
			}
			fatal := ""
			for _, r := range rsp.GetResults() {
				fatal += r.GetMessage()
			}
			if tc.fatal == "" && fatal != "" || !strings.HasPrefix(fatal, tc.fatal) {
				t.Errorf("%s: got %q, want %q", tc.reason, fatal, tc.fatal)
			}
			var names []string
			for _, name := range []string{"a", "b"} {
				if _, ok := rsp.GetDesired().GetResources()[name]; ok {
					names = append(names, name)
				}
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("%s: got resources %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCELFilterLocate checks that the fatal results of inputs lead to their fields.
func TestCELFilterLocate(t *testing.T) {
	cases := map[string]struct {
		reason, filter, want string
		line                 int
	}{
		"Name":      {"a pattern is invalid", `{"name": "("}`, "filters[1].name", 1},
		"Parse":     {"an expression has a fault in a line", `{"expression": "true &&\n\"x\" for filter 7: == 1"}`, "filters[1].expression", 2},
		"Check":     {"an expression has an unknown variable", `{"expression": "true ||\n  false ||\n  input.x"}`, "filters[1].expression", 3},
		"Evaluate":  {"an expression fails", `{"expression": "true &&\n1 / 0 == 1"}`, "filters[1].expression", 1},
		"Whole":     {"a fault of the whole expression has no place", `{"expression": "` + strings.Repeat("(", 300) + `"}`, "filters[1].expression", 1},
		"Elsewhere": {"a result about the form of the input has no field", `{"nam": "a"}`, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			input := `{"filters": [{"name": "a", "expression": "true"}, ` + tc.filter + `]}`
			rsp, err := builtin.NewCELFilter("").RunFunction(t.Context(), "f", celFilterRequest(t, input))
			if err != nil || len(rsp.GetResults()) != 1 {
				t.Fatal(rsp, err)
			}
			if field, line := builtin.LocateFilter(rsp.GetResults()[0].GetMessage(), nil); field != tc.want || line != tc.line {
				t.Errorf("%s: got %q, line %d for %v", tc.reason, field, line, rsp.GetResults())
			}
		})
	}
}

func TestCELFilterCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := builtin.NewCELFilter("").RunFunction(ctx, "f", celFilterRequest(t, `{"filters": [{"name": "a", "expression": "true"}]}`))
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// FuzzCELFilterFilter looks for filters and states with which the function panics, returns an error, or
// takes long.
func FuzzCELFilterFilter(f *testing.F) {
	for _, e := range []string{"true", "observed.composite.resource.spec.size == 3", "desired.resources.all(n, desired.resources[n].ready != 2)", "[1].map(x, [x, x]) == []", "'a'.matches('(a|b)+')"} {
		f.Add("a|b", e, `{"composite": {"resource": {"spec": {"size": 3}}}}`)
	}
	r := builtin.NewCELFilter("")
	f.Fuzz(func(t *testing.T, name, expression, observed string) {
		req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{}, Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"a": {}, name: {}}}}
		if protojson.Unmarshal([]byte(observed), req.Observed) != nil {
			t.Skip("not a state")
		}
		input, err := structpb.NewStruct(map[string]any{"filters": []any{map[string]any{"name": name, "expression": expression}}})
		if err != nil {
			t.Skip("not UTF-8")
		}
		req.Input = input
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := r.RunFunction(ctx, "f", req); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkCELFilterRun measures three filters and ten resources.
func BenchmarkCELFilterRun(b *testing.B) {
	req := celFilterRequest(b, `{"filters": [
		{"name": "r[0-4]", "expression": "observed.composite.resource.spec.size == 3"},
		{"name": "r5", "expression": "has(observed.composite.resource.spec.backup) && observed.composite.resource.spec.backup == true"},
		{"name": "r.*", "expression": "desired.resources.all(n, desired.resources[n].ready != 2)"}]}`)
	req.Desired.Resources = map[string]*fnv1.Resource{}
	for i := range 10 {
		req.Desired.Resources[fmt.Sprint("r", i)] = req.GetObserved().GetComposite()
	}
	r := builtin.NewCELFilter("")
	b.ReportAllocs()
	for b.Loop() {
		rsp, err := r.RunFunction(b.Context(), "f", req)
		if err != nil || len(rsp.GetDesired().GetResources()) != 9 || len(rsp.GetResults()) > 0 {
			b.Fatal(rsp, err)
		}
	}
}
