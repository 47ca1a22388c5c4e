package sdk

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// TTL is the default time to live of a response.
const TTL = 60 * time.Second

// To returns a response to req with its tag, desired state and context, and the
// default TTL. It shares the messages with req, so a change must replace them.
func To(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(TTL)},
		Desired: req.GetDesired(),
		Context: req.GetContext(),
	}
}

// Desired returns the desired composed resources of req without their connection
// details, as the SDK of real functions does. It shares the bodies with req.
func Desired(req *fnv1.RunFunctionRequest) map[string]*fnv1.Resource {
	all := make(map[string]*fnv1.Resource, len(req.GetDesired().GetResources()))
	for name, r := range req.GetDesired().GetResources() {
		all[name] = &fnv1.Resource{Resource: r.GetResource(), Ready: r.GetReady()}
		if r.GetResource() == nil {
			all[name].Resource = &structpb.Struct{}
		}
	}
	return all
}

// Fatal adds err to rsp as a fatal result, and returns rsp.
func Fatal(rsp *fnv1.RunFunctionResponse, err error) *fnv1.RunFunctionResponse {
	return result(rsp, fnv1.Severity_SEVERITY_FATAL, err)
}

// Warn adds err to rsp as a warning, and returns rsp.
func Warn(rsp *fnv1.RunFunctionResponse, err error) *fnv1.RunFunctionResponse {
	return result(rsp, fnv1.Severity_SEVERITY_WARNING, err)
}

func result(rsp *fnv1.RunFunctionResponse, severity fnv1.Severity, err error) *fnv1.RunFunctionResponse {
	rsp.Results = append(rsp.Results, &fnv1.Result{
		Severity: severity,
		Message:  err.Error(),
		Target:   fnv1.Target_TARGET_COMPOSITE.Enum(),
	})
	return rsp
}
