package reconciler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// noValue is what text/template prints for a value that does not exist.
const noValue = "<no value>"

// findNoValue returns the path of the first field, in the order of names, with a text that
// contains noValue in after and not in before, or "".
func findNoValue(path string, before, after *structpb.Value) string {
	switch v := after.GetKind().(type) {
	case *structpb.Value_StringValue:
		if strings.Contains(v.StringValue, noValue) && !strings.Contains(before.GetStringValue(), noValue) {
			return path
		}
	case *structpb.Value_StructValue:
		fields := v.StructValue.GetFields()
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if found := findNoValue(at, before.GetStructValue().GetFields()[name], fields[name]); found != "" {
				return found
			}
		}
	case *structpb.Value_ListValue:
		old := before.GetListValue().GetValues()
		for i, element := range v.ListValue.GetValues() {
			var was *structpb.Value
			if i < len(old) {
				was = old[i]
			}
			if found := findNoValue(fmt.Sprintf("%s[%d]", path, i), was, element); found != "" {
				return found
			}
		}
	}
	return ""
}
