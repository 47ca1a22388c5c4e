package render

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// A Profile is the version of Crossplane that a render imitates.
type Profile string

const (
	// V2 is the reconciler of Crossplane v2.3 and later.
	V2 Profile = "v2"
	// Classic is the render of Crossplane v2.0 to v2.2.
	Classic Profile = "classic"
	// V1_20 is the render of Crossplane v1.15 to v1.20.
	V1_20 Profile = "v1.20"
	// V1_14 is the render of Crossplane v1.14, the first version that had one.
	V1_14 Profile = "v1.14"
	// Alpha is the reconciler of Crossplane v1.11 to v1.13, whose functions are
	// containers. Render does not support it; the xfn command does.
	Alpha Profile = "alpha"
)

// ForCrossplane returns the profile of a Crossplane version such as v1.20 or
// v1.20.3. It returns an error for versions before v1.11, which had no
// functions.
func ForCrossplane(version string) (Profile, error) {
	v, err := semver.NewVersion(version)
	if err != nil || !strings.Contains(version, ".") {
		return "", fmt.Errorf("%q is not a version of Crossplane: expected the form v2.1", version)
	}
	switch major, minor := v.Major(), v.Minor(); {
	case major > 2, major == 2 && minor >= 3:
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
		return "", fmt.Errorf("there were no functions in Crossplane %s: v1.11 was the first that had them", version)
	}
}
