package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// A Profile is the version of Crossplane that a render imitates.
type Profile string

const (
	// V2 is the reconciler of Crossplane v2.3 and later.
	V2 Profile = "v2"
	// Classic is the crossplane render command of Crossplane v2.0 to v2.2.
	Classic Profile = "classic"
	// V1_20 is the crossplane beta render command of Crossplane v1.15 to v1.20.
	V1_20 Profile = "v1.20"
	// V1_14 is the crossplane beta render command of Crossplane v1.14, which introduced it.
	V1_14 Profile = "v1.14"
	// Alpha is the reconciler of Crossplane v1.11 to v1.13, whose functions are
	// containers. Render does not support it; the xfn command does.
	Alpha Profile = "alpha"
)

// ForCrossplane returns the profile of a Crossplane version such as v1.20 or v1.20.3. It
// returns an error for versions before v1.11, which had no functions, and for versions that do
// not exist: v1.20 was the last of v1, and the only later major version is v2.
func ForCrossplane(version string) (Profile, error) {
	v, err := semver.NewVersion(version)
	if err != nil || !strings.Contains(version, ".") {
		return "", fmt.Errorf("%q is not a version of Crossplane: expected the form v2.1", version)
	}
	switch major, minor := v.Major(), v.Minor(); {
	case major > 2, major == 1 && minor > 20:
		return "", fmt.Errorf("there is no Crossplane %s: known are v1.11 to v1.20, and v2.0 and later versions of v2", version)
	case major == 2 && minor >= 3:
		return V2, nil
	case major == 2:
		return Classic, nil
	case major == 1 && minor >= 15:
		return V1_20, nil
	case major == 1 && minor == 14:
		return V1_14, nil
	case major == 1 && minor >= 11:
		return Alpha, nil
	default:
		return "", fmt.Errorf("version %s of Crossplane has no functions: expected v1.11 or later", version)
	}
}

// ErrNoSpec is the error of Render, in the profiles before V2, if Request.Full is set and
// the XR has no spec.
var ErrNoSpec = errors.New("the composite resource has no spec to show in full")

// A FatalError is a FATAL result of a function.
type FatalError = function.FatalError

// A Request is the input of Render, which does not change it.
type Request struct {
	// Profile is the version of Crossplane to imitate. Empty is V2.
	Profile Profile
	// XR is the composite resource, with the defaults of its XRD applied. It is required.
	XR *unstructured.Unstructured
	// Composition is the Composition of the XR. It is required, and must be of mode
	// Pipeline, or have no mode. Render does not compare its compositeTypeRef with the XR.
	Composition *apiextv1.Composition
	// Observed are the composed resources that exist. The annotation
	// crossplane.io/composition-resource-name has their name in the pipeline.
	Observed []*unstructured.Unstructured
	// Required and Extra are the cluster's objects that functions may require. In
	// profile Classic, requirements in a step of the Composition find only Required.
	Required, Extra []*unstructured.Unstructured
	// Credentials are the Secrets that steps of the pipeline refer to.
	Credentials []*unstructured.Unstructured
	// Schemas finds the OpenAPI schema that a function requires, and returns
	// an empty message if there is none. It may be nil.
	Schemas func(*fnv1.SchemaSelector) *fnv1.Schema
	// NoExtraResources calls each function once, and ignores what it requires. Crossplane v1.15
	// and v1.16 do so if --enable-composition-functions-extra-resources is false.
	NoExtraResources bool
	// Validated means that the caller validates the composed resources by the schemas of their kinds,
	// so Render does not warn of their fields.
	Validated bool
	// Legacy says that the XR has the schema of XRs before Crossplane v2: its
	// references are directly under spec.
	Legacy bool
	// ConnectionSecretKeys are the keys of connection details that the XRD allows
	// Crossplane to publish. Empty allows all.
	ConnectionSecretKeys []string
	// Context is the context of the first function's request. It may be nil.
	Context *structpb.Struct
	// Full includes all fields of the request's XR in the result. Otherwise
	// the resulting XR has its identity and status only.
	Full bool
}

func (r Request) input() reconciler.Input {
	return reconciler.Input{
		XR: r.XR, Composition: r.Composition, Observed: r.Observed,
		Required: r.Required, Extra: r.Extra, Credentials: r.Credentials,
		Schemas: r.Schemas, NoExtraResources: r.NoExtraResources, Validated: r.Validated, Legacy: r.Legacy, ConnectionSecretKeys: r.ConnectionSecretKeys, Context: r.Context,
	}
}

// A Result is the output of a render, as documents that can be printed.
type Result struct {
	// XR is the resulting composite resource: its identity and status, or Full if
	// Request.Full is set. Full is nil if the profile cannot show all fields. For an
	// Operation, both are the Operation.
	XR, Full map[string]any
	// Composed are the composed resources, sorted by their name in the pipeline. For an
	// Operation, they are the resources that it applies, sorted as its references to them.
	Composed []map[string]any
	// Results are what functions and the engine reported, in order.
	Results []map[string]any
	// Context is the context that the last function returned, as a
	// document. It is set if HasContext is true. In profile Classic it may
	// be nil even then, which prints as "null".
	Context    map[string]any
	HasContext bool
	// ConnectionDetails has the XR's connection details in base64.
	ConnectionDetails map[string]any
	// Notes and Warnings are sentences about effects that no document
	// shows. Warnings are about effects that are probably mistakes.
	Notes, Warnings []string
}

// Include selects documents besides the XR and the composed resources.
type Include struct {
	Results, Context, ConnectionDetails bool
}

// Documents returns the XR and the composed resources, then the results, the
// context and the connection details, if include selects them.
func (r *Result) Documents(include Include) []map[string]any {
	docs := append([]map[string]any{r.XR}, r.Composed...)
	if include.Results {
		docs = append(docs, r.Results...)
	}
	if include.Context && r.HasContext {
		docs = append(docs, r.Context)
	}
	if include.ConnectionDetails {
		docs = append(docs, r.ConnectionDetails)
	}
	return docs
}

// noRunner replaces a nil Runner: a paused or deleted XR, and an Operation that has ended, need none.
var noRunner = function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return nil, errors.New("the Runner is nil, so no function can be called")
})

// Render runs the Composition's pipeline for the XR. It calls functions with run.
//
// It returns an error that is a *FatalError, for errors.As, for a FATAL result of a function, and ErrNoSpec in
// the profiles before V2 if Full is set and the XR has no spec.
func Render(ctx context.Context, run function.Runner, req Request) (*Result, error) {
	v, err := reconciler.VersionOf(string(req.Profile))
	if err != nil {
		return nil, err
	}
	if req.Profile == Alpha {
		return nil, errors.New("the functions of profile alpha are containers, which cannot be called by RunFunction")
	}
	if run == nil {
		run = noRunner
	}
	if req.XR == nil || req.Composition == nil {
		return nil, errors.New("the request has no composite resource or no Composition")
	}
	out, err := reconciler.Render(ctx, run, req.input(), v)
	if err != nil {
		return nil, err
	}
	r := Result(*out)
	if req.Full {
		if r.Full == nil {
			return nil, ErrNoSpec
		}
		r.XR = r.Full
	}
	return &r, nil
}
