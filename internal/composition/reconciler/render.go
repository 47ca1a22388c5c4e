package reconciler

import (
	"context"
	"fmt"
	"slices"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
)

// Input is the input of Render. It has the fields of render.Request. The objects in
// Required and Extra must pass Store.Check. Render does not change an Input.
type Input struct {
	XR                           *unstructured.Unstructured
	Composition                  *apiextv1.Composition
	Observed                     []*unstructured.Unstructured
	Required, Extra, Credentials Store
	Schemas                      func(*fnv1.SchemaSelector) *fnv1.Schema
	NoExtraResources, Legacy     bool
	Validated                    bool
	ConnectionSecretKeys         []string
	Context                      *structpb.Struct
}

func (in Input) findSchema(sel *fnv1.SchemaSelector) *fnv1.Schema {
	if in.Schemas == nil {
		return &fnv1.Schema{}
	}
	return in.Schemas(sel)
}

// Output is the output of a render. It has the fields of render.Result, in the same
// order, so that Go can convert an Output to a render.Result.
type Output struct {
	XR, Full          map[string]any
	Composed          []map[string]any
	Results           []map[string]any
	Context           map[string]any
	HasContext        bool
	ConnectionDetails map[string]any
	Notes, Warnings   []string
}

// Render reconciles the composite resource once, as the version v of Crossplane
// does. A result of severity FATAL is returned as a *function.FatalError.
func Render(ctx context.Context, run function.Runner, in Input, v Version) (*Output, error) {
	if v.Classic != nil {
		return v.Classic.render(ctx, run, in)
	}
	xr, required, err := setup(in)
	if err != nil {
		return nil, err
	}
	requested := handleRequest(xr)
	if out := Ended(xr, pausedMessage, xr.GetGeneration()); out != nil {
		out.Results = append(requested, out.Results...)
		return out, nil
	}
	// Of several objects with the same identity, Crossplane uses the last, which is the first in the store.
	store := slices.Concat(Store{required}, in.Observed, in.Required, in.Extra, in.Credentials)
	slices.Reverse(store)
	observed, err := existing(xr, in.Legacy, store)
	if err != nil {
		return nil, err
	}
	p, err := pipelineOf(in, xr, observed, store)
	if err != nil {
		return nil, err
	}
	got, err := p.run(ctx, run)
	if err != nil {
		return nil, err
	}
	out, err := assemble(in, xr, ByName(observed), store, got)
	if err != nil {
		return nil, err
	}
	out.Results = append(requested, out.Results...)
	return out, nil
}

// A Version lists how a version of Crossplane differs from other versions.
type Version struct {
	// Checks are the checks of the input, which are made before any function runs.
	Checks
	// Classic describes a version whose `crossplane render` does not use the
	// reconciler. It is nil for other versions.
	Classic *ClassicVersion
}

// Checks are the differences in how versions of Crossplane read and check the
// input of a render. Each bool, if true, enables the described behavior.
type Checks struct {
	// Match rejects a Composition that does not match the XR.
	Match bool
	// Selector is the path of the labels in an XR's Composition selector.
	Selector []string
	// Refuse lists the kinds of problems of a Composition that make a render fail.
	Refuse []composition.ProblemKind
	// XRDKind rejects an XRD that does not define the XR's kind.
	XRDKind bool
	// LastRequired uses only the last of several paths of required resources.
	LastRequired bool
	// ContextFirst reports an error in the context before an error in the required schemas.
	ContextFirst bool
	// JSONContext rejects context values and files that are not JSON.
	JSONContext bool
	// EmptyXR reads an empty file as an XR without fields.
	EmptyXR bool
}

// A ClassicVersion lists how versions of the classic `crossplane render` differ.
// Each field, if true, enables the described behavior.
type ClassicVersion struct {
	// Capabilities sends the engine's capabilities to functions.
	Capabilities bool
	// Conditions writes conditions to the XR.
	Conditions bool
	// CompositeReady uses the readiness that functions set on the XR.
	CompositeReady bool
	// Namespaces puts composed resources into the XR's namespace, and includes
	// this namespace in the output XR.
	Namespaces bool
	// Nested reads the name prefix and the claim of composed resources from the
	// XR's labels. If Nested is false, they are the XR's name and spec.claimRef.
	Nested bool
	// Requirements supports required resources and schemas.
	Requirements bool
	// Credentials passes Secrets to functions.
	Credentials bool
}

// VersionOf returns the Version for a profile of package render, by the profile's name.
func VersionOf(profile string) (Version, error) {
	var (
		selector       = []string{"spec", "crossplane", "compositionSelector", "matchLabels"}
		legacySelector = []string{"spec", "compositionSelector", "matchLabels"}
		// invalid has the problems that the profiles v2 and classic reject.
		// invalidSpec is for v1.20 and v1.14, which reject more problems. invalidCredentials is for v1.20.
		invalid            = []composition.ProblemKind{composition.UnknownMode, composition.UnknownFunction, composition.StepWithoutFunction}
		invalidSpec        = append(slices.Clone(invalid), composition.EmptyPipeline, composition.DuplicateStep)
		invalidCredentials = append(slices.Clone(invalidSpec), composition.DuplicateCredential, composition.CredentialWithoutSecret)
	)
	switch profile {
	case "", "v2":
		return Version{Checks: Checks{Match: true, Selector: selector, Refuse: invalid, XRDKind: true}}, nil
	case "classic":
		return Version{
			Checks: Checks{Match: true, Selector: selector, Refuse: invalid, LastRequired: true, ContextFirst: true},
			Classic: &ClassicVersion{
				Capabilities: true, Conditions: true, CompositeReady: true, Namespaces: true,
				Nested: true, Requirements: true, Credentials: true,
			},
		}, nil
	case "v1.20":
		return Version{
			Checks:  Checks{Match: true, Selector: legacySelector, Refuse: invalidCredentials, LastRequired: true, ContextFirst: true, JSONContext: true},
			Classic: &ClassicVersion{Conditions: true, Credentials: true},
		}, nil
	case "v1.14":
		return Version{
			Checks:  Checks{Refuse: invalidSpec, LastRequired: true, ContextFirst: true, JSONContext: true, EmptyXR: true},
			Classic: &ClassicVersion{},
		}, nil
	case "alpha":
		return Version{Checks: Checks{Match: true, Selector: legacySelector, XRDKind: true}}, nil
	default:
		return Version{}, fmt.Errorf("unknown profile %q", profile)
	}
}
