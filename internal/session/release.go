package session

import (
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// Release returns the release of Crossplane by whose CRDs the kinds of Crossplane are
// validated in a profile.
func Release(p render.Profile) schema.Release {
	switch p {
	case render.Classic:
		return schema.V2_2
	case render.V1_20:
		return schema.V1_20
	case render.V1_14, render.Alpha:
		return schema.V1_14
	default:
		return schema.V2_3
	}
}
