package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// A Profile is the Crossplane that a render imitates.
type Profile string

const (
	// V2 is the reconciler of today's Crossplane, v2.3 and later.
	V2 Profile = "v2"
	// Classic is the render of Crossplane v2.0 to v2.2.
	Classic Profile = "classic"
	// Classic1 is the render of Crossplane v1.15 to v1.20.
	Classic1 Profile = "v1.20"
	// ClassicBeta is the render of Crossplane v1.14, its first.
	ClassicBeta Profile = "v1.14"
	// Alpha is the reconciler of Crossplane v1.11 to v1.13, whose functions
	// were containers. RenderAlpha renders in it.
	Alpha Profile = "alpha"
)

// A Version lists what a version of Crossplane does in its own way. The golden
// cases of its name pin it.
type Version struct {
	// Checks are made before anything runs.
	Checks
	// classic is what the renderer of before the reconciler does; nil is the
	// reconciler.
	classic *reconciler.ClassicVersion
}

// Checks say how a version takes its input.
type Checks struct {
	// Match refuses a Composition that is for another kind, or that the XR
	// does not select.
	Match bool
	// Selector is where the XR selects Compositions by their labels.
	Selector []string
	// Refuse are the problems of Compositions that this version fails on.
	Refuse []composition.ProblemKind
	// XRDKind refuses an XRD of another kind than the XR's, not only one that
	// lacks its version.
	XRDKind bool
	// LastRequired takes only the last of several sources of required
	// resources.
	LastRequired bool
	// ContextFirst looks at the context before required schemas.
	ContextFirst bool
	// JSONContext refuses context values that are not JSON.
	JSONContext bool
	// EmptyXR takes a file that holds nothing for an XR that has nothing.
	EmptyXR bool
}

var (
	selector       = []string{"spec", "crossplane", "compositionSelector", "matchLabels"}
	legacySelector = []string{"spec", "compositionSelector", "matchLabels"}
)

// What every version fails on, and what those that validate a Composition's
// spec do besides.
var (
	invalid     = []composition.ProblemKind{composition.UnknownMode, composition.UnknownFunction, composition.StepWithoutFunction}
	invalidSpec = append(slices.Clone(invalid), composition.EmptyPipeline, composition.DuplicateStep)
)

var versions = map[Profile]Version{
	V2: {
		Checks: Checks{Match: true, Selector: selector, Refuse: invalid, XRDKind: true},
	},
	Classic: {
		Checks: Checks{Match: true, Selector: selector, Refuse: invalid, LastRequired: true, ContextFirst: true},
		classic: &reconciler.ClassicVersion{
			Capabilities: true, Conditions: true, CompositeReady: true, Namespaces: true,
			Nested: true, Requirements: true, Credentials: true,
		},
	},
	Classic1: {
		Checks:  Checks{Match: true, Selector: legacySelector, Refuse: invalidSpec, LastRequired: true, ContextFirst: true, JSONContext: true},
		classic: &reconciler.ClassicVersion{Conditions: true, Credentials: true},
	},
	Alpha: {
		Checks: Checks{Match: true, Selector: legacySelector, XRDKind: true},
	},
	ClassicBeta: {
		Checks:  Checks{Refuse: invalidSpec, LastRequired: true, ContextFirst: true, JSONContext: true, EmptyXR: true},
		classic: &reconciler.ClassicVersion{},
	},
}

// Version returns what a profile does; the empty one is V2.
func (p Profile) Version() (Version, error) {
	if p == "" {
		p = V2
	}
	v, ok := versions[p]
	if !ok {
		return Version{}, fmt.Errorf("unknown profile %q", p)
	}
	return v, nil
}

var crossplaneVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v?(\d+)\.(\d+)(\.\d+)?([-+].*)?$`) })

// ForCrossplane returns the profile of a Crossplane version, of the form v1.20
// or v1.20.3. Versions before v1.11 had no functions.
func ForCrossplane(version string) (Profile, error) {
	m := crossplaneVersion().FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("%q is not a version of Crossplane: expected the form v2.1", version)
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return "", fmt.Errorf("%q is not a version of Crossplane: %w", version, err)
	}
	minor, err := strconv.Atoi(m[2])
	if err != nil {
		return "", fmt.Errorf("%q is not a version of Crossplane: %w", version, err)
	}
	switch {
	case major > 2, major == 2 && minor >= 3:
		return V2, nil
	case major == 2:
		return Classic, nil
	case major == 1 && minor >= 15:
		return Classic1, nil
	case major == 1 && minor == 14:
		return ClassicBeta, nil
	case major == 1 && minor >= 11:
		return Alpha, nil
	default:
		return "", fmt.Errorf("there were no functions in Crossplane %s: v1.11 was the first that had them", version)
	}
}
