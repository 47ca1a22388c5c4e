package patchandtransform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// These match the reasons for which a transform fails.
const (
	missingKey = `: map transform could not resolve: key (.*) is not found in map$`
	notANumber = `: math transform could not resolve: input is required to be a number for math transformer, got (string|bool)$`
)

// maxKeys is the number of keys of a map that a hint lists.
const maxKeys = 20

// Advice returns the hint for a fatal result about a patch set that does not exist or the value of
// a transform, or "". The input is in JSON.
func Advice(fatal string, input []byte) string {
	set, key, got := first(missingPatchSet, fatal), first(missingKey, fatal), first(notANumber, fatal)
	in := &spec.Resources{}
	if set == "" && key == "" && got == "" || json.Unmarshal(input, in) != nil {
		return ""
	}
	if set != "" {
		var names []string
		for _, s := range in.PatchSets {
			names = append(names, s.Name)
		}
		return hint.MeantOf(set, names)
	}
	t, source := transformAt(in, Locate(fatal, input))
	if got != "" {
		return fmt.Sprintf("%s is a %s: put the transform {type: convert, convert: {toType: int64}} before this one", cmp.Or(source, "the value"), got)
	}
	keys := slices.Sorted(maps.Keys(t.Map))
	if len(keys) == 0 || len(keys) > maxKeys {
		return fmt.Sprintf("add the key %s to the map", key)
	}
	next := "the keys of the map are " + strings.Join(keys, ", ")
	if source != "" {
		next = "set " + source + " to a key of the map: " + strings.Join(keys, ", ")
	}
	return next + "; or add the key " + key
}

// transformAt returns the transform at a path, and the field that it reads if it is the first one of
// a patch that reads one field. Both are zero for another path.
func transformAt(in *spec.Resources, path string) (t spec.Transform, source string) {
	var i, j, n int
	var p spec.Patch
	if k, _ := fmt.Sscanf(path, "patchSets[%d].patches[%d].transforms[%d]", &i, &j, &n); k == 3 {
		p = in.PatchSets[i].Patches[j]
	} else if k, _ := fmt.Sscanf(path, "resources[%d].patches[%d].transforms[%d]", &i, &j, &n); k == 3 {
		p = in.Resources[i].Patches[j].Patch
	}
	if n >= len(p.Transforms) {
		return t, ""
	}
	if n == 0 && p.FromFieldPath != nil && !p.TypeOrDefault().IsCombine() {
		source = *p.FromFieldPath
	}
	return p.Transforms[n], source
}
