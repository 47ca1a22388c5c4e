package builtin_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestDummy tests merges that no golden case has. No merge may change the
// request, which shares its state with the response.
func TestDummy(t *testing.T) {
	const state = `"desired": {"composite": {"resource": {"a": 1}}, "resources": {"r": {"resource": {"b": 1}}}}, "context": {"c": 1}`
	cases := map[string]struct{ reason, input, want string }{
		"Composite": {
			"a field of the composite's body is replaced, and others are kept",
			`{"response": {"desired": {"composite": {"resource": {"x": 2}}}}}`,
			`{"meta": {"ttl": "60s"}, "desired": {"composite": {"resource": {"a": 1, "x": 2}}, "resources": {"r": {"resource": {"b": 1}}}}, "context": {"c": 1}}`,
		},
		"Resource": {
			"a composed resource is replaced as a whole",
			`{"response": {"desired": {"resources": {"r": {"ready": "READY_TRUE"}}}}}`,
			`{"meta": {"ttl": "60s"}, "desired": {"composite": {"resource": {"a": 1}}, "resources": {"r": {"ready": "READY_TRUE"}}}, "context": {"c": 1}}`,
		},
		"Context": {
			"a key of the context is replaced",
			`{"response": {"context": {"c": {"d": 1}}}}`,
			`{"meta": {"ttl": "60s"}, "desired": {"composite": {"resource": {"a": 1}}, "resources": {"r": {"resource": {"b": 1}}}}, "context": {"c": {"d": 1}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := respond(t, named(t, "dummy", ""), request(t, `{"input": `+tc.input+`, `+state+`}`))
			want := &fnv1.RunFunctionResponse{}
			e2e.NoError(t, protojson.Unmarshal([]byte(tc.want), want))
			if !proto.Equal(want, got) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, want)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Nothing":  {"an input without a response is an error", `{}`, "cannot unmarshal RunFunctionResponse from *v1.RunFunctionRequest: proto:"},
		"Null":     {"a null response is an error", `{"response": null}`, "cannot unmarshal RunFunctionResponse from *v1.RunFunctionRequest: proto:"},
		"Capitals": {"field names are case-sensitive", `{"Response": {}}`, "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.Response from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Response: json:"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, `{"input": `+tc.input+`, "desired": {"resources": {"a": {}}}}`)
			rsp := respond(t, named(t, "dummy", ""), req)
			if len(rsp.GetResults()) != 1 || !strings.HasPrefix(rsp.GetResults()[0].GetMessage(), tc.want) {
				t.Errorf("%s: got %v", tc.reason, rsp.GetResults())
			}
			if !proto.Equal(rsp.GetDesired(), req.GetDesired()) {
				t.Errorf("%s: got desired %v", tc.reason, rsp.GetDesired())
			}
		})
	}
}
