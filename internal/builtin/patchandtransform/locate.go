package patchandtransform

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
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
