package gotemplating

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/mod/semver"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// features are the parts of the real function that only some of its versions have.
type features struct {
	// ttl is the time to live of a response: the field ttl of the input, and the
	// annotation ttlAnnotation of the composite resource.
	ttl bool
	// connectionDetails is the template function getComposedConnectionDetails.
	connectionDetails bool
}

// Branch is the version of the main branch of the real function. It has features that no
// release up to v0.12.2 has.
const Branch = "v0.13.0-0"

// featuresOf returns the features of a version such as v0.12.2, or of the branch main. Any
// other text, such as "", means the newest release.
func featuresOf(version string) features {
	branch := version == "main" || semver.IsValid(version) && semver.Compare(version, Branch) >= 0
	return features{ttl: branch, connectionDetails: branch}
}

// decode decodes an input, and sets the time to live in rsp if the input has one. A field
// that the version does not have is an error.
func (f features) decode(input *structpb.Struct, rsp *fnv1.RunFunctionResponse) (*GoTemplate, error) {
	type release = GoTemplate
	if !f.ttl {
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
func (f features) annotated(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	if !f.ttl {
		return
	}
	if ttl, ok := sdk.Annotations(req.GetObserved().GetComposite().GetResource())[ttlAnnotation]; ok {
		d, _ := time.ParseDuration(ttl)
		rsp.Meta.Ttl = durationpb.New(d)
	}
}
