package fieldpath

import (
	"fmt"
	"maps"
	"slices"
)

// MaxExpanded limits the total number of segments of the paths that Expand returns.
const MaxExpanded = 4 << 20

// Expand returns the paths of the existing values that match p. A key "*" in p matches each
// key of an object, in sorted order, and each index of a list. If the value at a "*" is
// null, IsNotFound is true for the error. More than MaxExpanded segments are an error, and so is
// a key "*" in an object that a "*" in p matches.
func (p Path) Expand(from any) ([]Path, error) {
	paths, err := p.expand(0, from, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot expand wildcards for segments: %q: %w", p, err)
	}
	return paths, nil
}

// expand appends the paths that match p to paths. from is the value that the
// first i segments of p select.
func (p Path) expand(i int, from any, paths []Path) ([]Path, error) {
	for ; i < len(p); i++ {
		if !p[i].IsIndex && p[i].Key == wildcard {
			return p.each(i, from, paths)
		}
		next, err := p.step(i, from)
		if IsNotFound(err) {
			return paths, nil
		}
		if err != nil {
			return nil, err
		}
		from = next
	}
	if (len(paths)+1)*len(p) > MaxExpanded {
		return nil, fmt.Errorf("the expanded paths have more than %d segments", MaxExpanded)
	}
	return append(paths, p), nil
}

// each expands the wildcard at segment i of p to each element or field of from.
func (p Path) each(i int, from any, paths []Path) ([]Path, error) {
	var err error
	take := func(s Segment, v any) bool {
		concrete := slices.Clone(p)
		concrete[i] = s
		if paths, err = concrete.expand(i+1, v, paths); err != nil {
			err = fmt.Errorf("%q: cannot expand wildcards: %w", concrete, err)
		}
		return err == nil
	}
	switch from := from.(type) {
	case []any:
		for n, v := range from {
			if !take(Index(n), v) {
				return nil, err
			}
		}
	case map[string]any:
		if _, ok := from[wildcard]; ok {
			return nil, fmt.Errorf("%q: the object has the key %q, which function-patch-and-transform expands until it crashes", p[:i], wildcard)
		}
		for _, k := range slices.Sorted(maps.Keys(from)) {
			if !take(Key(k), from[k]) {
				return nil, err
			}
		}
	case nil:
		return nil, notFound(fmt.Sprintf("wildcard field %q is not found in the path", p[:i]))
	default:
		return nil, fmt.Errorf("%q: unexpected wildcard usage", p[:i])
	}
	return paths, nil
}
