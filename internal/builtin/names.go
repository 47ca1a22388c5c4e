package builtin

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// withNames returns r, which also warns once for each input of names in its fields that no
// resource has, if a resource that the input does not name has a similar name. The names may be
// regular expressions, but only plain names are checked.
func (o Options) withNames(r function.Runner, fields ...string) function.Runner {
	var warned sdk.Memo[sdk.Sum, bool]
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		// The func returns no error.
		_, _ = warned.Get(sdk.SumOf(req.GetInput()), func() (bool, error) {
			for _, text := range unknownNames(req, fields) {
				o.Progress.Warn(fmt.Sprintf("pipeline step %q: %s", function.Step(ctx), text))
			}
			return true, nil
		})
		return r.RunFunction(ctx, name, req)
	})
}

// mostNames limits the number of resources whose names are compared.
const mostNames = 1000

// unknownNames describes the names in fields of an input that neither a desired nor an observed
// resource has. Names that differ only in digits are not similar.
func unknownNames(req *fnv1.RunFunctionRequest, fields []string) (found []string) {
	input := req.GetInput().AsMap()
	resources := maps.Clone(req.GetDesired().GetResources())
	if resources == nil {
		resources = map[string]*fnv1.Resource{}
	}
	maps.Copy(resources, req.GetObserved().GetResources())
	if len(resources) > mostNames {
		return nil
	}
	names := slices.Sorted(maps.Keys(resources))
	type use struct{ field, name string }
	var unknown []use
	for _, path := range fields {
		check.EachValue(input, path, func(field string, value any) {
			text, _ := value.(string)
			name := strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$")
			pattern, err := spec.CompilePattern("^(?:" + name + ")$")
			if err != nil {
				return // The function reports it.
			}
			if plain := regexp.QuoteMeta(name) == name; plain && resources[name] == nil {
				unknown = append(unknown, use{field, name})
			}
			names = slices.DeleteFunc(names, func(name string) bool {
				matches, err := pattern.MatchString(name)
				return matches || err != nil
			})
		})
	}
	for _, u := range unknown {
		near := hint.Nearest(u.name, names)
		if near != "" && !slices.Equal(strings.FieldsFunc(u.name, unicode.IsDigit), strings.FieldsFunc(near, unicode.IsDigit)) {
			found = append(found, fmt.Sprintf("%s: no composed resource has the name %q%s", u.field, u.name, hint.DidYouMean(near)))
		}
	}
	return found
}
