package gotemplating

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Locate implements sdk.Locator. A result about the output of the template has the place of the
// line that wrote it, if r returned the result and the template writes the same output again.
func (r *runner) Locate(ctx context.Context, fatal string, input []byte) sdk.Location {
	in := &GoTemplate{}
	if len(input) > 0 && json.Unmarshal(input, in) != nil {
		return sdk.Location{}
	}
	at := r.places.Get(newPlaceKey(fatal, input), func() place { return place{template: templateLine(fatal)} })
	if at == (place{}) && !strings.HasPrefix(fatal, "cannot decode manifest") {
		return in.locate(fatal)
	}
	detail := ""
	if at.template > 0 {
		detail = fmt.Sprintf("line %d of the template", at.template)
	} else if at != (place{}) {
		detail = fmt.Sprintf("line %d of the output", at.output)
	}
	if in.Source == environmentSource {
		// The text is known only while the function runs.
		return sdk.Location{Field: "environment.key", Line: 1, Detail: detail}
	}
	all, err := r.parts(ctx, in, nil)
	switch {
	case err != nil:
		return sdk.Location{}
	case at.template > 0 && strings.HasSuffix(fatal, ": unexpected EOF"):
		return all.locateOpen(at.template, newProgramKey("", in, r.unreleased).left)
	case at.template > 0:
		line := all.locate(at.template)
		if at.missing != "" {
			line.Detail = "where " + at.missing
		} else {
			line.Detail = whyUndefined(fatal, all.text(), at.template, cmp.Or(newProgramKey("", in, r.unreleased).left, "{{"))
		}
		return line
	}
	whole := r.whole(in, all)
	whole.Detail = detail
	return whole
}

// locate returns the place of the field that a result calls invalid, for results that are not about
// a template.
func (in *GoTemplate) locate(fatal string) sdk.Location {
	if option, ok := strings.CutPrefix(fatal, unknownOption); ok {
		if i := slices.Index(in.Options, option); i >= 0 {
			return sdk.Location{Field: fmt.Sprintf("options[%d]", i), Line: 1}
		}
	}
	problem, isInvalid := strings.CutPrefix(fatal, "invalid function input: ")
	switch {
	case !isInvalid:
		return sdk.Location{}
	case strings.HasSuffix(problem, "source is required"), strings.HasPrefix(problem, "invalid source: "):
		return sdk.Location{Field: "source", Line: 1}
	case in.Source == fileSystemSource:
		return sdk.Location{Field: "fileSystem.dirPath", Line: 1}
	case in.Source == inlineSource:
		return sdk.Location{Field: "inline", Line: 1}
	case in.Source == environmentSource:
		return sdk.Location{Field: "environment.key", Line: 1}
	default:
		return sdk.Location{}
	}
}

// A placeKey identifies an error: other templates can fail with the same text.
type placeKey struct {
	fatal string
	input sdk.Sum
}

func newPlaceKey(fatal string, input []byte) placeKey {
	s := &structpb.Struct{}
	if len(input) > 0 && protojson.Unmarshal(input, s) != nil {
		return placeKey{}
	}
	return placeKey{fatal, sdk.SumOf(s)}
}

// whole returns the place of an error that names no line: the file or field of the only part, or else
// the field or folder with all parts.
func (r *runner) whole(in *GoTemplate, all parts) sdk.Location {
	switch {
	case len(all) == 1:
		return all.locate(1)
	case in.Source == inlineSource:
		return sdk.Location{Field: "inline.templates", Line: 1}
	case in.Source == fileSystemSource:
		return sdk.Location{Field: "fileSystem.dirPath", Line: 1}
	default:
		return sdk.Location{File: cmp.Or(r.Source, r.DefaultSource)}
	}
}

// The patterns of messages about lines of the template.
var (
	inTemplate = proc.Regexp(`^(?:invalid function input: cannot parse the provided templates|cannot execute template): template: ` + rootName + `:(\d+):`)
	inInclude  = proc.Regexp(`: error calling ` + includeFunction + `: template: ` + rootName + `:(\d+):\d+: executing `)
)

// templateLine returns the line in the template to which a message refers, or 0. In the message
// about an include, it is the line in the innermost template.
func templateLine(fatal string) int {
	m := inTemplate().FindStringSubmatch(fatal)
	if m == nil {
		return 0
	}
	if inner := inInclude().FindAllStringSubmatch(fatal, -1); len(inner) > 0 {
		m = inner[len(inner)-1]
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return line
}

var (
	// missingIndex matches the message about an element of a value of the request that does not exist,
	// with the path of the value, and the indexes.
	missingIndex = proc.Regexp(`at <index \$?\.((?:observed|desired|context|requiredResources|extraResources)(?:\.\w+)*)((?: (?:"[^"\\]*"|\d+))+)>: error calling index: index of (?:untyped nil|nil pointer)$`)
	indexes      = proc.Regexp(`"[^"]*"|\d+`)
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
