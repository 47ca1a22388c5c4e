package reconciler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
)

// noValue is what text/template prints for a value that does not exist.
const noValue = "<no value>"

// badVerb matches what package fmt prints for a value that is missing, left over, nil or of
// another type than its verb.
var badVerb = proc.Regexp(`%!.?\((?:MISSING\)|NOVERB\)|BADINDEX\)|<nil>\)|EXTRA |[\w.*\[\]{} ]+=[^()]*\)?)`)

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

func placeholderReason(placeholder string) string {
	if placeholder == noValue {
		return "a template prints this for a field that does not exist"
	}
	return "a format prints this for a value that is missing, left over or of another type"
}

// findPlaceholder returns the path of the first field in after, in the order of names, whose text
// contains a placeholder that it does not contain in before. A path is relative to after, such as
// ".spec.args[0]". It also returns the placeholder. Both are "" if there is no such field.
func findPlaceholder(before, after *structpb.Value) (path, placeholder string) {
	switch v := after.GetKind().(type) {
	case *structpb.Value_StringValue:
		if found := placeholderIn(v.StringValue); found != "" && !strings.Contains(before.GetStringValue(), found) {
			return "", found
		}
	case *structpb.Value_StructValue:
		fields := v.StructValue.GetFields()
		for _, name := range manifest.Keys(fields) {
			if path, placeholder = findPlaceholder(before.GetStructValue().GetFields()[name], fields[name]); placeholder != "" {
				return "." + name + path, placeholder
			}
		}
	case *structpb.Value_ListValue:
		old := before.GetListValue().GetValues()
		for i, element := range v.ListValue.GetValues() {
			var was *structpb.Value
			if i < len(old) {
				was = old[i]
			}
			if path, placeholder = findPlaceholder(was, element); placeholder != "" {
				return fmt.Sprintf("[%d]%s", i, path), placeholder
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

var metadataFields = strings.Fields("annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid")

// A mistake describes a mistake in a field of a desired resource. key is the last element of the path, or
// a name in metadata.
type mistake struct{ field, key, text string }

// dotted returns the name that was probably meant for v, an entry of labels or annotations. A field
// path splits a name with dots into nested objects, so dotted joins their names. It returns name if v
// is not such an object.
func dotted(name string, v *structpb.Value) string {
	fields := v.GetStructValue().GetFields()
	for key, below := range fields {
		if len(fields) == 1 {
			return dotted(name+"."+key, below)
		}
	}
	return name
}

// metadataMistakes describes mistakes in the new metadata of a desired resource: fields that no
// object has, labels and annotations that an API server refuses, values that are not text, for which
// Crossplane removes all entries, and annotations whose names are similar to known ones.
func metadataMistakes(before, after *structpb.Struct) (found []mistake) {
	old, is := metadataOf(before), metadataOf(after)
	for _, field := range manifest.Keys(is) {
		if _, had := old[field]; !had && !slices.Contains(metadataFields, field) {
			found = append(found, mistake{"metadata", field, fmt.Sprintf("sets metadata.%s, which no object has%s", field, hint.DidYouMean(hint.Nearest(field, metadataFields)))})
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		old, entries := entriesOf(before, field), entriesOf(after, field)
		for _, name := range manifest.Keys(entries) {
			if _, had := old[name]; had {
				continue
			}
			switch v := entries[name].GetKind().(type) {
			case *structpb.Value_StringValue:
				if reason := invalidEntry(field, name, v.StringValue); reason != "" {
					found = append(found, mistake{"metadata", name, fmt.Sprintf("sets metadata.%s[%s] to %q, which an API server refuses: %s", field, name, v.StringValue, reason)})
				}
			case *structpb.Value_NullValue:
			case *structpb.Value_StructValue:
				next, path := "write a text", "metadata"
				if full := dotted(name, entries[name]); full != name {
					next, path = fmt.Sprintf("for a name with a dot, write the path metadata.%s[%s]", field, full), "metadata."+field+"."+full
				}
				found = append(found, mistake{path, name, fmt.Sprintf("sets metadata.%s[%s] to an object, so Crossplane removes all %[1]s: %[3]s", field, name, next)})
			default:
				found = append(found, mistake{"metadata", name, fmt.Sprintf("sets metadata.%s[%s] to a value that is not text, so Crossplane removes all %[1]s: write it in quotes", field, name)})
			}
			if near := hint.Misspelled(name, knownAnnotations); field == "annotations" && near != "" {
				found = append(found, mistake{"metadata", name, fmt.Sprintf("sets the annotation %s, which has no effect%s", name, hint.DidYouMean(near))})
			}
		}
	}
	return found
}

func metadataOf(r *structpb.Struct) map[string]*structpb.Value {
	return r.GetFields()["metadata"].GetStructValue().GetFields()
}

func entriesOf(r *structpb.Struct, field string) map[string]*structpb.Value {
	return metadataOf(r)[field].GetStructValue().GetFields()
}

// invalidEntry returns the reason why an API server refuses a label or annotation, or "". It returns
// "" for a value with a placeholder.
func invalidEntry(field, name, value string) string {
	if field == "annotations" {
		// The API server allows capitals in the prefix of an annotation.
		return strings.Join(validation.IsQualifiedName(strings.ToLower(name)), "; ")
	}
	reasons := validation.IsQualifiedName(name)
	if placeholderIn(value) == "" {
		reasons = append(reasons, validation.IsValidLabelValue(value)...)
	}
	return strings.Join(reasons, "; ")
}

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

// fieldMistakes describes the fields of r, a desired resource of a kind of Kubernetes, that an API server
// refuses or drops: values of a wrong type, and fields that the kind does not have. It leaves out
// metadata, which metadataMistakes checks, and texts with a placeholder.
func fieldMistakes(r *structpb.Struct) (found []mistake) {
	apiVersion, name := r.GetFields()["apiVersion"].GetStringValue(), r.GetFields()["kind"].GetStringValue()
	if !schema.HasNoXRs(kschema.FromAPIVersionAndKind(apiVersion, name).GroupVersion()) {
		return nil // Looking for a kind of Kubernetes takes up to a millisecond.
	}
	kind, ok := schema.FindKind(kschema.FromAPIVersionAndKind(apiVersion, name))
	if !ok {
		return nil
	}
	obj := r.AsMap()
	for _, f := range kind.Decode(obj) {
		key := f.Field[strings.LastIndexByte(f.Field, '.')+1:]
		text, isText := f.Value.(string)
		switch {
		case strings.HasPrefix(f.Field, "metadata"), isText && placeholderIn(text) != "":
		case !f.Unknown:
			found = append(found, mistake{f.Field, key, fmt.Sprintf("is %s that an API server refuses: %s", hint.An(name), f)})
		default:
			found = append(found, mistake{f.Field, key, fmt.Sprintf("has the field %s, which %s of %s does not have%s", f.Field, hint.An(name), apiVersion, cmp.Or(misplaced(kind, obj, f.Field), hint.DidYouMean(f.Nearest)))})
		}
	}
	return found
}

// misplaced explains an unknown field of obj that probably lacks indentation: below its parent, there
// is exactly one null field in which it would be valid. It returns "" for another field.
func misplaced(kind schema.Kind, obj map[string]any, field string) string {
	at, err := fieldpath.Parse(field)
	if err != nil {
		return ""
	}
	var parent any = obj
	if len(at) > 1 {
		parent, err = at[:len(at)-1].Get(obj)
	}
	siblings, isObject := parent.(map[string]any)
	if err != nil || !isObject {
		return ""
	}
	key, found := at[len(at)-1].Key, ""
	for _, path := range nulls(at[:len(at)-1], siblings) {
		moved := schema.Copy(obj)
		if _, err := path.Set(moved, map[string]any{key: siblings[key]}); err != nil {
			continue
		}
		if slices.ContainsFunc(kind.Decode(moved), func(f schema.Fault) bool { return fieldpath.HasPrefix(f.Field, path.String()) }) {
			continue
		}
		if found != "" {
			return ""
		}
		found = path.String()
	}
	if found == "" {
		return ""
	}
	return fmt.Sprintf(", and %s is empty: indent %s below it, in a template with nindent", found, key)
}

// nulls returns the paths of the fields with the value null in obj, an object at the path at, and in
// the objects in it.
func nulls(at fieldpath.Path, obj map[string]any) (paths []fieldpath.Path) {
	for _, name := range manifest.Keys(obj) {
		path := append(slices.Clone(at), fieldpath.Key(name))
		if below, ok := obj[name].(map[string]any); ok {
			paths = append(paths, nulls(path, below)...)
		} else if obj[name] == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// scopeMistake describes u, a resource that xr composes, if xr is namespaced and u is cluster-scoped.
// Otherwise it returns "".
func scopeMistake(u, xr *unstructured.Unstructured) string {
	if xr.GetNamespace() == "" || !schema.IsClusterScoped(u.GroupVersionKind().GroupKind()) {
		return ""
	}
	return fmt.Sprintf("is a cluster-scoped %s, which Crossplane does not apply for a composite resource with a namespace: compose it from one of scope Cluster", u.GetKind())
}
