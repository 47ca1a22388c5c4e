package intercept

import (
	"encoding/json"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const masked = "masked"

// Mask returns a request as JSON values, with "masked" in place of its tag,
// which is a hash of the request, the time at which the XR became responsive,
// and credentials.
func Mask(req *fnv1.RunFunctionRequest) (map[string]any, error) {
	req = proto.CloneOf(req)
	if req.GetMeta().GetTag() != "" {
		req.Meta.Tag = masked
	}
	for _, c := range req.GetCredentials() {
		for key := range c.GetCredentialData().GetData() {
			c.GetCredentialData().Data[key] = []byte(masked)
		}
	}
	m, err := values(req)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(m, "observed", "composite", "resource", "status", "conditions")
	list, _ := conditions.([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == "Responsive" {
			c["lastTransitionTime"] = masked
		}
	}
	return m, nil
}

// values returns a message as JSON values.
func values(m proto.Message) (map[string]any, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	return v, json.Unmarshal(b, &v)
}
