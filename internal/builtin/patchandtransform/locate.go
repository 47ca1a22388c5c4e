package patchandtransform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// These match the parts of a result that refer to a field of the input.
const (
	invalidField     = `^invalid Function input: ([^ ]+): `
	environmentPatch = `^cannot apply the ".*?" environment patch at index (\d+): `
	missingPatchSet  = `^cannot resolve PatchSets: cannot find PatchSet by name (.*)$`
	composedResource = `^(?:cannot|not adding) .*?composed resource ("(?:[^"\\]|\\.)*")|^composed resource ("(?:[^"\\]|\\.)*") has no base`
	resourcePatch    = `^(?:cannot render|not adding new) composed resource "(?:[^"\\]|\\.)*" (?:to desired state because )?".*?" patch at index (\d+)[: ]`
	transform        = `: transform at index (\d+) returned error: `
	readinessCheck   = `: cannot run readiness check at index (\d+): `
)

// Locate returns the path of the field of an input to which a fatal result or a warning refers, or
// "". The input is in JSON.
func Locate(fatal string, input []byte) string {
	in := &spec.Resources{}
	if json.Unmarshal(input, in) != nil {
		return ""
	}
	if path := first(invalidField, fatal); path != "" {
		return path
	}
	if i := first(environmentPatch, fatal); i != "" {
		return fmt.Sprintf("environment.patches[%s]", i)
	}
	if name := first(missingPatchSet, fatal); name != "" {
		return locatePatchSet(in, name)
	}
	name, err := strconv.Unquote(first(composedResource, fatal))
	i := slices.IndexFunc(in.Resources, func(t spec.Template) bool { return t.Name == name })
	if err != nil || i < 0 {
		return ""
	}
	at := fmt.Sprintf("resources[%d]", i)
	if n, err := strconv.Atoi(first(resourcePatch, fatal)); err == nil {
		paths := patchPaths(in, i)
		if n >= len(paths) {
			return at
		}
		if t := first(transform, fatal); t != "" {
			return paths[n] + ".transforms[" + t + "]"
		}
		return paths[n]
	}
	if n := first(readinessCheck, fatal); n != "" {
		return fmt.Sprintf("%s.readinessChecks[%s]", at, n)
	}
	return at + ".base"
}

// locate returns the place of the patch that writes a field of a resource, or otherwise the place of
// the field in the base. If neither exists, it returns the place of the base or of the resource.
func (p *program) locate(resource, field string) (at sdk.Location) {
	for _, t := range p.templates {
		if t.name != resource {
			continue
		}
		at = sdk.Location{Field: t.at, Line: 1}
		if n := slices.IndexFunc(t.patches, func(p placedPatch) bool { return p.Writes(field) }); n >= 0 {
			at.Field = t.patches[n].at
			continue
		}
		if t.base != nil {
			at.Field += ".base"
		}
		if _, ok := t.base[field]; ok {
			at.Field += "." + field
		}
	}
	return at
}

// first returns the text of the first group of a regular expression that matches, or "".
func first(pattern, text string) string {
	groups := regexp.MustCompile(pattern).FindStringSubmatch(text)
	for i := 1; i < len(groups); i++ {
		if groups[i] != "" {
			return groups[i]
		}
	}
	return ""
}

// locatePatchSet returns the path of the first use of a patch set.
func locatePatchSet(in *spec.Resources, name string) string {
	for i, t := range in.Resources {
		for j, p := range t.Patches {
			if p.Type == spec.PatchSetType && p.PatchSetName != nil && *p.PatchSetName == name {
				return fmt.Sprintf("resources[%d].patches[%d].patchSetName", i, j)
			}
		}
	}
	return ""
}

// patchPaths returns the paths of the patches of the resource with index i, which may be invalid. The
// patches of a patch set are in the place of the reference to it.
func patchPaths(in *spec.Resources, i int) (paths []string) {
	for j, p := range in.Resources[i].Patches {
		if p.Type != spec.PatchSetType || p.PatchSetName == nil {
			paths = append(paths, fmt.Sprintf("resources[%d].patches[%d]", i, j))
			continue
		}
		for k, set := range slices.Backward(in.PatchSets) { // Of several with the same name, the last one is used.
			if set.Name == *p.PatchSetName {
				for n := range set.Patches {
					paths = append(paths, fmt.Sprintf("patchSets[%d].patches[%d]", k, n))
				}
				break
			}
		}
	}
	return paths
}

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
