package sdk

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TTL is how long an answer may be kept, unless a function says otherwise.
const TTL = 60 * time.Second

// To begins the answer to req: with its tag, TTL, and the desired state and the
// context that it came with. These are the request's own messages, so whoever
// changes one has to put another in its place.
func To(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(TTL)},
		Desired: req.GetDesired(),
		Context: req.GetContext(),
	}
}

// Fatal adds err to rsp as a result that ends the pipeline, and returns rsp.
func Fatal(rsp *fnv1.RunFunctionResponse, err error) *fnv1.RunFunctionResponse {
	return result(rsp, fnv1.Severity_SEVERITY_FATAL, err)
}

// Warn adds err to rsp as a result that people should see, and returns rsp.
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
