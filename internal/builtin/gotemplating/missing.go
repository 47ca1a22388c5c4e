package gotemplating

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/hint"
)

var (
	// missingIndex matches the message about an element of a value of the request that does not exist,
	// with the path of the value, and the indexes.
	missingIndex = pattern(`at <index \$?\.((?:observed|desired|context|requiredResources|extraResources)(?:\.\w+)*)((?: (?:"[^"\\]*"|\d+))+)>: error calling index: index of (?:untyped nil|nil pointer)$`)
	indexes      = pattern(`"[^"]*"|\d+`)
)

// rememberMissing caches, for Locate, the missing part of the request that makes a template fail. data
// is the data of the template.
func (r *runner) rememberMissing(err error, req *fnv1.RunFunctionRequest, data map[string]any) {
	fatal := message(err).Error()
	m := missingIndex().FindStringSubmatch(fatal)
	if m == nil {
		return
	}
	path := strings.Split(m[1], ".")
	for _, index := range indexes().FindAllString(m[2], -1) {
		path = append(path, strings.Trim(index, `"`))
	}
	if missing := missingIn(data, path); missing != "" {
		r.places.Get(placeKey{fatal, sdk.SumOf(req.GetInput())}, func() place {
			return place{template: templateLine(fatal), missing: missing}
		})
	}
}

// missingIn describes the first key of a path that the value in data lacks, or returns "".
func missingIn(data map[string]any, path []string) string {
	var value any = data
	at := ""
	for i, key := range path {
		if list, ok := value.([]any); ok {
			n, err := strconv.Atoi(key)
			if err != nil || n >= len(list) {
				return ""
			}
			value, at = list[n], fmt.Sprintf("%s[%d]", at, n)
			continue
		}
		obj, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		below := strings.TrimPrefix(at+"."+key, ".")
		if strings.ContainsAny(key, "./-") {
			below = fmt.Sprintf("%s[%q]", at, key)
		}
		switch next, has := obj[key]; {
		case has:
			value, at = next, below
		case i == 0 || i == 1 && key == "resources":
			return below + " is empty" // The JSON of a request leaves out empty fields.
		default:
			return fmt.Sprintf("%s has no %q%s", at, key, others(key, obj))
		}
	}
	return ""
}

// others names the keys of an object that may have been meant instead of a missing key.
func others(key string, obj map[string]any) string {
	const most = 5
	keys := slices.Sorted(maps.Keys(obj))
	if len(keys) == 0 || len(keys) > most {
		return hint.DidYouMean(hint.Nearest(key, keys))
	}
	for i := range keys {
		keys[i] = strconv.Quote(keys[i])
	}
	return ", only " + strings.Join(keys, ", ")
}
