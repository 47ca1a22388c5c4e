package image

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
)

// orHost returns p, or the platform of Linux containers on this machine if p is empty.
func orHost(p v1.Platform) v1.Platform {
	if p.OS == "" && p.Architecture == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	}
	return p
}

// A PlatformError says that an image does not exist for the requested platform.
type PlatformError struct {
	// Want is the platform that was requested.
	Want v1.Platform
	// Available are the platforms of the images that exist, in the order of the index.
	Available []v1.Platform
}

// Error implements error.
func (e *PlatformError) Error() string {
	var available []string
	for _, p := range e.Available {
		if name := p.String(); name != "" && !slices.Contains(available, name) {
			available = append(available, name)
		}
	}
	if len(available) == 0 {
		return fmt.Sprintf("there is no image for %s, and no image that names its platform", e.Want)
	}
	return fmt.Sprintf("there is no image for %s, only for %s", e.Want, strings.Join(available, ", "))
}

// Choose returns the index of the available platform that runs programs for want. The
// platform must have the OS and architecture of want. Of several variants, Choose returns
// the highest that does not exceed the variant of want, and of equal variants the first. A
// single available platform may be empty, as in a package without a runtime. If no platform
// matches, the error is a *PlatformError with a hint.
func Choose(available []v1.Platform, want v1.Platform) (int, error) {
	if len(available) == 1 && available[0].OS == "" {
		return 0, nil
	}
	best, height := -1, -1.0
	for i, p := range available {
		if h := fit(p, want); h > height {
			best, height = i, h
		}
	}
	if best < 0 {
		return 0, hint.Wrap(&PlatformError{want, available}, "use an image for "+want.String()+", or request another platform")
	}
	return best, nil
}

// fit rates how well a program for p runs on want: a higher number is better. It returns -1
// if the program does not run there.
func fit(p, want v1.Platform) float64 {
	if p.OS != want.OS || p.Architecture != want.Architecture || want.OSVersion != "" && p.OSVersion != want.OSVersion {
		return -1
	}
	if p.Variant == want.Variant {
		return math.Inf(1)
	}
	if has := level(p); has <= level(want) {
		return has
	}
	return -1
}

// usual are the variants that are assumed for platforms without a variant (OCI image index
// specification, "Platform Variants").
var usual = map[string]string{"amd64": "v1", "arm": "v7", "arm64": "v8"}

// level returns the number of p's variant, such as 8 for "v8". A program for a lower
// variant runs on a processor of a higher one. For a variant that is not a number, level
// returns NaN.
func level(p v1.Platform) float64 {
	variant := cmp.Or(p.Variant, usual[p.Architecture])
	if variant == "" {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(variant, "v"), 64)
	if err != nil || n < 0 {
		return math.NaN()
	}
	return n
}
