package intercept_test

import (
	"errors"
	"fmt"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

func TestCrosscheck(t *testing.T) {
	const resource = `{"desired": {"resources": {"b": {"resource": {"n": 1, "l": [1, 2], "x": null}}}}}`
	cases := map[string]struct{ reason, first, second, want string }{
		"Same":     {"equal responses pass", resource, `{"desired": {"resources": {"b": {"resource": {"x": null, "l": [1, 2], "n": 1.0}}}}}`, ""},
		"Value":    {"a different value is an error", resource, `{"desired": {"resources": {"b": {"resource": {"n": "1", "l": [1, 2], "x": null}}}}}`, `crosschecking function "f": desired.resources.b.resource.n is 1 by the builtin, but "1" by the package`},
		"Missing":  {"null differs from a missing field", resource, `{"desired": {"resources": {"b": {"resource": {"n": 1, "l": [1, 2]}}}}}`, `crosschecking function "f": desired.resources.b.resource.x is null by the builtin, but nothing by the package`},
		"Element":  {"a shorter list is an error", resource, `{"desired": {"resources": {"b": {"resource": {"n": 1, "l": [1], "x": null}}}}}`, `crosschecking function "f": desired.resources.b.resource.l[1] is 2 by the builtin, but nothing by the package`},
		"More":     {"a longer list is an error", resource, `{"context": {"a": 1}, "desired": {"resources": {"b": {"resource": {"n": 1, "l": [1, 2], "x": null}}}}}`, `crosschecking function "f": context is nothing by the builtin, but {"a":1} by the package`},
		"Type":     {"an object differs from a list", `{"context": {"a": {}}}`, `{"context": {"a": []}}`, `crosschecking function "f": context.a is {} by the builtin, but [] by the package`},
		"Fatal":    {"a fatal result is reported before the differences that it causes", `{"context": {"a": 1}}`, `{"results": [{"severity": "SEVERITY_FATAL", "message": "b"}]}`, `crosschecking function "f": results is nothing by the builtin, but [{"message":"b","severity":"SEVERITY_FATAL"}] by the package`},
		"Messages": {"a different message is an error", `{"results": [{"message": "a"}]}`, `{"results": [{"message": "b"}]}`, `crosschecking function "f": results[0].message is "a" by the builtin, but "b" by the package`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := intercept.Crosscheck(intercept.Side{Name: "the builtin", Runner: responding(t, tc.first)}, intercept.Side{Name: "the package", Runner: responding(t, tc.second)})
			got, err := r.RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{})
			if tc.want == "" {
				e2e.NoError(t, err)
				e2e.Equal(t, tc.reason, response(t, tc.first), got, protocmp.Transform())
				return
			}
			if !errors.As(err, new(*intercept.CrosscheckError)) || err.Error() != tc.want {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	fails := always(nil, errors.New("it is unavailable"))
	r := intercept.Crosscheck(intercept.Side{Name: "the builtin", Runner: responding(t, "{}")}, intercept.Side{Name: "the package", Runner: fails})
	err := e2e.Err(r.RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{}))
	e2e.Equal(t, "an error of the package is the error of the call", "calling the package: it is unavailable", fmt.Sprint(err))
}

func responding(t *testing.T, text string) function.Runner {
	return always(response(t, text), nil)
}

func response(t *testing.T, text string) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp := &fnv1.RunFunctionResponse{}
	e2e.NoError(t, protojson.Unmarshal([]byte(text), rsp))
	return rsp
}
