package builtin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
)

// withNames returns a Runner that calls r. Once for each input, it also warns of names in the input
// that no resource has, if a resource that the input does not name has a similar name. The names
// may be regular expressions, but only plain names are checked. anchors is true if r adds ^ and $
// to them.
func (o Options) withNames(r function.Runner, anchors bool, fields ...string) function.Runner {
	var warned proc.Memo[sdk.Sum, bool]
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		warned.Get(sdk.SumOf(req.GetInput()), func() bool {
			for _, u := range unknownNames(req, anchors, fields) {
				at := cmp.Or(sdk.Location{Field: u.field, Line: 1}.Place(ctx), u.field)
				o.Progress.Warn(fmt.Sprintf("pipeline step %q: %s: no composed resource has the name %q%s", function.Step(ctx), at, u.name, hint.DidYouMean(u.near)))
			}
			return true
		})
		return r.RunFunction(ctx, name, req)
	})
}

// mostNames limits the number of resources whose names are compared.
const mostNames = 1000

// A misnamed is the name of a resource in a field of an input that is a misspelling of near.
type misnamed struct{ field, name, near string }

// unknownNames returns the names in fields of an input that no desired or observed resource
// has, and that are probably misspellings of the name of a resource.
func unknownNames(req *fnv1.RunFunctionRequest, anchors bool, fields []string) (unknown []misnamed) {
	input := req.GetInput().AsMap()
	resources := maps.Clone(req.GetDesired().GetResources())
	if resources == nil {
		resources = map[string]*fnv1.Resource{}
	}
	maps.Copy(resources, req.GetObserved().GetResources())
	if len(resources) > mostNames {
		return nil
	}
	all := slices.Sorted(maps.Keys(resources))
	names := slices.Clone(all)
	for _, path := range fields {
		check.EachValue(input, path, func(field string, value any) {
			text, _ := value.(string)
			name := strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$")
			if anchors && name == text {
				text = "^(?:" + name + ")$"
			}
			pattern, err := spec.CompilePattern(text)
			if err != nil {
				return // The function reports it.
			}
			matches := func(name string) bool {
				matches, err := pattern.MatchString(name)
				return matches || err != nil
			}
			if plain := regexp.QuoteMeta(name) == name; plain && !slices.ContainsFunc(all, matches) {
				unknown = append(unknown, misnamed{field: field, name: name})
			}
			names = slices.DeleteFunc(names, matches)
		})
	}
	for i := range unknown {
		unknown[i].near = hint.Misspelled(unknown[i].name, names)
	}
	return slices.DeleteFunc(unknown, func(u misnamed) bool { return u.near == "" })
}
