package builtin_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// autoReadyRequest returns a request with one desired resource, called "it". obj is the
// observed resource of this name.
func autoReadyRequest(obj *structpb.Struct) *fnv1.RunFunctionRequest {
	return &fnv1.RunFunctionRequest{
		Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{"it": {Resource: obj}}},
		Desired:  &fnv1.State{Resources: map[string]*fnv1.Resource{"it": {}}},
	}
}

var autoReadyRunner = builtin.NewAutoReady(builtin.AutoReadyOptions{})

// isReady reports whether function-auto-ready sets a resource to ready if the
// observed resource is obj.
func isReady(t testing.TB, obj *structpb.Struct) bool {
	t.Helper()
	switch r := respond(t, autoReadyRunner, autoReadyRequest(obj)).GetDesired().GetResources()["it"].GetReady(); r {
	case fnv1.Ready_READY_TRUE:
		return true
	case fnv1.Ready_READY_UNSPECIFIED:
		return false
	default:
		t.Fatalf("got %v", r)
		return false
	}
}

func TestAutoReadyDesiredState(t *testing.T) {
	body := object(t, "{apiVersion: v1, kind: Secret}")
	details := map[string][]byte{"a": []byte("b")}
	xr := &fnv1.Resource{Resource: object(t, "{kind: XR}"), ConnectionDetails: details, Ready: fnv1.Ready_READY_FALSE}
	req := &fnv1.RunFunctionRequest{
		Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{"bare": {Resource: body}, "odd": {Resource: body}, "kept": {Resource: body}}},
		Desired: &fnv1.State{Composite: xr, Resources: map[string]*fnv1.Resource{
			"bare": {},
			"odd":  {Resource: body, Ready: 7},
			"kept": {Resource: body, Ready: fnv1.Ready_READY_FALSE, ConnectionDetails: details},
		}},
	}
	got := respond(t, autoReadyRunner, req)
	want := &fnv1.State{Composite: xr, Resources: map[string]*fnv1.Resource{
		"bare": {Resource: &structpb.Struct{}, Ready: fnv1.Ready_READY_TRUE},
		"odd":  {Resource: body},
		"kept": {Resource: body, Ready: fnv1.Ready_READY_FALSE},
	}}
	if !proto.Equal(want, got.GetDesired()) {
		t.Errorf("got %v, want %v", got.GetDesired(), want)
	}
}

func TestAutoReadyInput(t *testing.T) {
	const decoding = "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.Input from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Input: json: "
	cases := map[string]struct{ reason, input, ttl, fatal string }{
		"Nothing":   {"the TTL has a default", "{}", "60s", ""},
		"Null":      {"a null leaves the field unset", "{ttl: null}", "60s", ""},
		"Negative":  {"a TTL may be negative", "{ttl: -1h}", "-3600s", ""},
		"CEL":       {"fields of an alpha feature are ignored", "{celHealthCheckCustomization: {a: b}, celHealthCheckCustomizationFrom: c}", "60s", ""},
		"CELList":   {"fields of an alpha feature must have the right type", "{celHealthCheckCustomization: [a]}", "60s", decoding},
		"CELNumber": {"values of a map must have the right type", "{celHealthCheckCustomization: {a: 1}}", "60s", decoding},
		"Capitals":  {"field names are case-sensitive", "{TTL: 1s}", "60s", decoding},
		"Metadata":  {"the input may have metadata", "{metadata: {name: a}}", "60s", ""},
		"Unit":      {"an invalid duration is an error with Go's text", "{ttl: 5 m}", "60s", `cannot set ttl: time: unknown unit " m" in duration "5 m"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := autoReadyRequest(object(t, "{apiVersion: v1, kind: Secret}"))
			req.Desired.Resources["it"].ConnectionDetails = map[string][]byte{"a": nil}
			req.Input = object(t, tc.input)
			rsp := respond(t, autoReadyRunner, req)
			if tc.fatal == "" {
				if len(rsp.GetResults()) > 0 {
					t.Errorf("%s: got %v", tc.reason, rsp.GetResults())
				}
			} else {
				if len(rsp.GetResults()) != 1 || !strings.HasPrefix(rsp.GetResults()[0].GetMessage(), tc.fatal) {
					t.Errorf("%s: got %v", tc.reason, rsp.GetResults())
				}
				if !proto.Equal(req.GetDesired(), rsp.GetDesired()) {
					t.Errorf("%s: the desired state was changed: %v", tc.reason, rsp.GetDesired())
				}
			}
			e2e.Equal(t, tc.reason, `"`+tc.ttl+`"`, protojson.Format(rsp.GetMeta().GetTtl()))
		})
	}
}
