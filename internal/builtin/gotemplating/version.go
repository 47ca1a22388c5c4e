package gotemplating

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// Unreleased is the version of the main branch of the real function. It has what no release up to newest
// has: the field ttl of the input and the annotation ttlAnnotation of the composite resource, which
// are the time to live of a response, and the template function getComposedConnectionDetails.
const (
	Unreleased = "v0.13.0-0"
	newest     = "v0.12.2"
)

// decode decodes an input, and sets the time to live in rsp if the input has one. A field
// that the version does not have is an error.
func (r *runner) decode(input *structpb.Struct, rsp *fnv1.RunFunctionResponse) (*GoTemplate, error) {
	type release = GoTemplate
	if !r.unreleased {
		in := &release{}
		return in, sdk.Decode(input, in)
	}
	// Errors contain the name of the type.
	type GoTemplate struct {
		release `json:",inline"`
		// TTL is ignored if it is not a Go duration.
		TTL string `json:"ttl,omitempty"`
	}
	in := &GoTemplate{}
	if err := sdk.Decode(input, in); err != nil {
		return nil, err
	}
	if ttl, err := time.ParseDuration(in.TTL); err == nil {
		rsp.Meta.Ttl = durationpb.New(ttl)
	}
	return &in.release, nil
}

// annotated sets the time to live in rsp if the observed composite resource has the
// annotation ttlAnnotation. An invalid duration means 0.
func (r *runner) annotated(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	if !r.unreleased {
		return
	}
	if ttl, ok := sdk.Annotations(req.GetObserved().GetComposite().GetResource())[ttlAnnotation]; ok {
		d, _ := time.ParseDuration(ttl)
		rsp.Meta.Ttl = durationpb.New(d)
	}
}
