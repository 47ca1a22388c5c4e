package suite

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// maxShrinks limits how often Shrink calls fails.
const maxShrinks = 500

// Shrink returns a composite resource for which fails is true, like xr: it removes fields and
// elements, and makes values smaller, as long as the schema allows the result. If ctx ends,
// it returns the smallest so far.
func (g *Generator) Shrink(ctx context.Context, xr map[string]any, fails func(map[string]any) bool) map[string]any {
	left := maxShrinks
	for again := true; again; {
		again = false
		for candidate := range g.smaller(xr) {
			if ctx.Err() != nil || left == 0 {
				return xr
			}
			if len(g.Faults(ctx, candidate)) > 0 {
				continue
			}
			left--
			if fails(candidate) && ctx.Err() == nil {
				xr, again = candidate, true
				break
			}
		}
	}
	return xr
}

// shortName is the name that a composite resource gets if the failure does not need another.
const shortName = "xr"

// smaller iterates over copies of xr that are smaller in one place.
func (g *Generator) smaller(xr map[string]any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		own := maps.Clone(xr)
		for key := range g.head("") {
			delete(own, key)
		}
		for less := range smaller(own) {
			all := maps.Clone(fieldpath.Map(less))
			for key := range g.head("") {
				all[key] = xr[key]
			}
			if !yield(all) {
				return
			}
		}
		name := fieldpath.Text(xr, "metadata", "name")
		if name == shortName {
			return
		}
		for _, less := range []string{shortName, name[:len(name)/2], name[:len(name)-1]} {
			all := maps.Clone(xr)
			if all["metadata"] = g.head(less)["metadata"]; !yield(all) {
				return
			}
		}
	}
}

// smaller iterates over values that are smaller than v in one place. They share their equal
// parts with v.
func smaller(v any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch v := v.(type) {
		case map[string]any:
			fewerFields(v, yield)
		case []any:
			fewerElements(v, yield)
		case string:
			shorter([]rune(v), yield)
		case int64:
			for _, less := range []int64{0, 1, v / 2, v - v/4, v - v/16, v - v/max(v, -v, 1)} {
				if max(less, -less) < max(v, -v) && !yield(less) {
					return
				}
			}
		case float64:
			if v != 0 {
				yield(int64(0))
			}
		case bool:
			if v {
				yield(false)
			}
		}
	}
}

func fewerFields(v map[string]any, yield func(any) bool) {
	keys := slices.Sorted(maps.Keys(v))
	for _, key := range keys {
		less := maps.Clone(v)
		if delete(less, key); !yield(less) {
			return
		}
	}
	for _, key := range keys {
		for below := range smaller(v[key]) {
			less := maps.Clone(v)
			if less[key] = below; !yield(less) {
				return
			}
		}
	}
}

func fewerElements(v []any, yield func(any) bool) {
	if len(v) > 1 && !yield([]any{}) {
		return
	}
	for i := range v {
		if !yield(slices.Delete(slices.Clone(v), i, i+1)) {
			return
		}
	}
	for i := range v {
		for below := range smaller(v[i]) {
			less := slices.Clone(v)
			if less[i] = below; !yield(less) {
				return
			}
		}
	}
}

func shorter(v []rune, yield func(any) bool) {
	n := len(v)
	if n == 0 {
		return
	}
	for _, less := range [][]rune{{}, v[:n/2], v[n/2:], v[:n-1], v[1:]} {
		if len(less) < n && !yield(string(less)) {
			return
		}
	}
}
