package reconciler

import (
	"fmt"
	"slices"

	"github.com/xfn-dev/xfn/internal/composition"
)

// A Version lists how a version of Crossplane differs from others.
type Version struct {
	// Checks are made before anything runs.
	Checks
	// Classic is the renderer before the reconciler, or nil.
	Classic *ClassicVersion
}

// Checks say how a version reads its input.
type Checks struct {
	// Match rejects a Composition that does not match the XR.
	Match bool
	// Selector is the path of the labels by which the XR selects Compositions.
	Selector []string
	// Refuse are the problems of Compositions that this version fails on.
	Refuse []composition.ProblemKind
	// XRDKind rejects an XRD of another kind than the XR's.
	XRDKind bool
	// LastRequired uses only the last of several sources of required resources.
	LastRequired bool
	// ContextFirst reads the context before required schemas.
	ContextFirst bool
	// JSONContext rejects context values that are not JSON.
	JSONContext bool
	// EmptyXR reads an empty file as an XR without fields.
	EmptyXR bool
}

// A ClassicVersion lists how versions of the classic renderer differ.
type ClassicVersion struct {
	// Capabilities sends the engine's capabilities to functions.
	Capabilities bool
	// Conditions writes conditions to the XR.
	Conditions bool
	// CompositeReady uses the readiness that functions set on the XR.
	CompositeReady bool
	// Namespaces moves resources to the XR's namespace, and prints it.
	Namespaces bool
	// Nested uses the XR's labels for name prefix and claim. Otherwise they
	// are the XR's own name and spec.claimRef.
	Nested bool
	// Requirements supports required resources and schemas.
	Requirements bool
	// Credentials passes Secrets to functions.
	Credentials bool
}

// VersionOf returns the version of a profile of package render, by name.
func VersionOf(profile string) (Version, error) {
	var (
		selector       = []string{"spec", "crossplane", "compositionSelector", "matchLabels"}
		legacySelector = []string{"spec", "compositionSelector", "matchLabels"}
		// Versions that validate a Composition's spec fail on
		// invalidSpec.
		invalid     = []composition.ProblemKind{composition.UnknownMode, composition.UnknownFunction, composition.StepWithoutFunction}
		invalidSpec = append(slices.Clone(invalid), composition.EmptyPipeline, composition.DuplicateStep)
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
			Checks:  Checks{Match: true, Selector: legacySelector, Refuse: invalidSpec, LastRequired: true, ContextFirst: true, JSONContext: true},
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
