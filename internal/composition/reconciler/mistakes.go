package reconciler

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/schema"
)

// noValue is what text/template prints for a value that does not exist.
const noValue = "<no value>"

// badVerb matches what package fmt prints for a value that is missing, left over, nil or of
// another type than its verb.
var badVerb = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%!.?\((?:MISSING\)|NOVERB\)|BADINDEX\)|<nil>\)|EXTRA |[\w.*\[\]{} ]+=[^()]*\)?)`)
})

// placeholderIn returns the first text in s that a template or a format prints in place of a
// value, or "".
func placeholderIn(s string) string {
	switch {
	case strings.Contains(s, noValue):
		return noValue
	case strings.Contains(s, "%!"):
		return badVerb().FindString(s)
	}
	return ""
}

// placeholderReason explains a placeholder in messages.
func placeholderReason(placeholder string) string {
	if placeholder == noValue {
		return "a template prints this for a field that does not exist"
	}
	return "a format prints this for a value that is missing, left over or of another type"
}

// findPlaceholder returns the path of the first field, in the order of names, with a text that
// contains a placeholder in after and not in before, and the placeholder. Both are "" if there is none.
func findPlaceholder(path string, before, after *structpb.Value) (field, placeholder string) {
	switch v := after.GetKind().(type) {
	case *structpb.Value_StringValue:
		if found := placeholderIn(v.StringValue); found != "" && !strings.Contains(before.GetStringValue(), found) {
			return path, found
		}
	case *structpb.Value_StructValue:
		fields := v.StructValue.GetFields()
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if field, placeholder = findPlaceholder(at, before.GetStructValue().GetFields()[name], fields[name]); placeholder != "" {
				return field, placeholder
			}
		}
	case *structpb.Value_ListValue:
		old := before.GetListValue().GetValues()
		for i, element := range v.ListValue.GetValues() {
			var was *structpb.Value
			if i < len(old) {
				was = old[i]
			}
			if field, placeholder = findPlaceholder(fmt.Sprintf("%s[%d]", path, i), was, element); placeholder != "" {
				return field, placeholder
			}
		}
	}
	return "", ""
}

// knownAnnotations are annotations that users write on composed resources.
var knownAnnotations = []string{
	AnnotationResourceName, AnnotationPaused, AnnotationReconcile, "crossplane.io/external-name", "crossplane.io/poll-interval",
	"gotemplating.fn.crossplane.io/composition-resource-name", "gotemplating.fn.crossplane.io/ready",
}

// A metadataMistake describes a mistake in a label or annotation.
type metadataMistake struct{ key, text string }

// metadataMistakes describes mistakes in the new labels and annotations of a desired resource:
// values that are not text, for which Crossplane removes all entries, and names that are similar to
// known ones.
func metadataMistakes(before, after *structpb.Struct) (found []metadataMistake) {
	for _, field := range []string{"labels", "annotations"} {
		old, entries := entriesOf(before, field), entriesOf(after, field)
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if _, had := old[name]; had {
				continue
			}
			switch entries[name].GetKind().(type) {
			case *structpb.Value_StringValue, *structpb.Value_NullValue:
			default:
				found = append(found, metadataMistake{name, fmt.Sprintf("sets metadata.%s[%s] to a value that is not text, so Crossplane removes all %[1]s: write it in quotes", field, name)})
			}
			if near := hint.Misspelled(name, knownAnnotations); field == "annotations" && near != "" {
				found = append(found, metadataMistake{name, fmt.Sprintf("sets the annotation %s, which has no effect%s", name, hint.DidYouMean(near))})
			}
		}
	}
	return found
}

func entriesOf(r *structpb.Struct, field string) map[string]*structpb.Value {
	return r.GetFields()["metadata"].GetStructValue().GetFields()[field].GetStructValue().GetFields()
}

// sameKind reports whether two resources have the same apiVersion and kind.
func sameKind(a, b *structpb.Struct) bool {
	return proto.Equal(a.GetFields()["apiVersion"], b.GetFields()["apiVersion"]) && proto.Equal(a.GetFields()["kind"], b.GetFields()["kind"])
}

// kindMistake describes an apiVersion or kind that is missing or misspelled, so that no API server
// has it, and returns the field, or "" if it is missing. The text is "" if there is no mistake.
func kindMistake(r *structpb.Struct) (text, field string) {
	fields := r.GetFields()
	for _, field := range []string{"apiVersion", "kind"} {
		switch v := fields[field].GetKind().(type) {
		case *structpb.Value_NumberValue, *structpb.Value_BoolValue, *structpb.Value_ListValue, *structpb.Value_StructValue:
			value, _ := json.Marshal(fields[field].AsInterface()) // NaN and infinity have no text.
			return fmt.Sprintf("has the %s %s, which is not a text, so an API server refuses it", field, value), field
		case *structpb.Value_StringValue:
			if v.StringValue != "" {
				continue
			}
		}
		return fmt.Sprintf("has no %s, so an API server refuses it", field), ""
	}
	apiVersion, kind := fields["apiVersion"].GetStringValue(), fields["kind"].GetStringValue()
	near := schema.Misspelled(apiVersion, kind)
	if near == "" {
		return "", ""
	}
	field = "kind"
	if strings.Contains(near, "/") {
		field = "apiVersion"
	}
	return fmt.Sprintf("is of kind %s of %s, which no API server has%s", kind, apiVersion, hint.DidYouMean(near)), field
}
