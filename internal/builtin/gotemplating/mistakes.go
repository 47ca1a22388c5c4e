package gotemplating

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A mistake is a document that does not have the effect that was probably meant.
type mistake struct {
	text string
	// offset returns the offset of a byte of the document in the output.
	offset func(out string) int
}

// warn sends each text once, with the place that wrote the document.
func (r *runner) warn(ctx context.Context, all []mistake, o written) {
	for _, m := range all {
		text := fmt.Sprintf("pipeline step %q: %s", function.Step(ctx), m.text)
		r.warned.Get(text, func() bool {
			at, _ := o.locate(ctx, m.offset(o.text))
			r.Progress.Warn(text + manifest.At(at.Place(ctx)))
			return true
		})
	}
}

// mistakes describes documents that do not have the effect that was probably meant: documents
// that replace an earlier document, and documents with fields or values that the function
// ignores.
func mistakes(req *fnv1.RunFunctionRequest, documents []document) (found []mistake) {
	c := &change{req: req}
	named := map[string]string{}
	for _, d := range documents {
		add := func(format string, args ...any) {
			found = append(found, mistake{fmt.Sprintf(format, args...), func(out string) int {
				offset, _ := positionOf(out, d.index, 0)
				return offset
			}})
		}
		name := d.GetAnnotations()[nameAnnotation]
		switch {
		case d.GetAPIVersion() == metaAPIVersion:
			for _, text := range metaMistakes(d.Unstructured) {
				add("%s", text)
			}
		case c.isComposite(d.Unstructured):
			for _, field := range slices.Sorted(maps.Keys(d.Object)) {
				if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field) {
					add("a document of the composite resource has %s, but function-go-templating applies only its status", field)
				}
			}
			for _, condition := range fieldpath.List(d.Object, "status", "conditions") {
				if kind := fieldpath.Text(condition, "type"); (kind == "Ready" || kind == "Synced") && !hasCondition(req, kind) {
					add("a document of the composite resource sets the condition %s, but Crossplane sets it itself: to make it ready, annotate the document with %s", kind, readyAnnotation)
				}
			}
		case name != "" && named[name] != "":
			add("the templates of a %s and a %s have the resource name %q, and the last replaces the others", named[name], d.GetKind(), name)
		default:
			named[name] = d.GetKind()
		}
	}
	return found
}

// hasCondition reports whether the observed composite resource has a condition, which a template may
// copy with the whole status.
func hasCondition(req *fnv1.RunFunctionRequest, kind string) bool {
	status := req.GetObserved().GetComposite().GetResource().GetFields()["status"].GetStructValue()
	return slices.ContainsFunc(status.GetFields()["conditions"].GetListValue().GetValues(), func(condition *structpb.Value) bool {
		return condition.GetStructValue().GetFields()["type"].GetStringValue() == kind
	})
}

// doubleKeys describes the documents in the output of a template that have a key of the whole
// document twice. The last value replaces the others.
func doubleKeys(out string) (found []mistake) {
	seen := map[string]bool{}
	kind := ""
	offset := 0
	for line := range strings.Lines(out) {
		key := topKey().FindString(line)
		switch {
		case strings.HasPrefix(line, "---"):
			clear(seen)
			kind = ""
		case key == "":
		case seen[key]:
			at := offset
			text := fmt.Sprintf("a document%s has the field %s twice, and the last value replaces the other: is the line --- missing before it?", kind, strings.TrimSuffix(key, ":"))
			found = append(found, mistake{text, func(string) int { return at }})
			clear(seen) // The fields of the next object are double, too.
			fallthrough
		default:
			seen[key] = true
			if key == "kind:" {
				kind = " of kind " + strings.TrimSpace(strings.TrimPrefix(line, key))
			}
		}
		offset += len(line)
	}
	return found
}

// topKey matches a key of the whole document at the start of a line.
var topKey = proc.Regexp(`^[A-Za-z]+:`)

// metaMistakes describes values of a document of the function's own API that the function ignores.
func metaMistakes(d *unstructured.Unstructured) (found []string) {
	kind := d.GetKind()
	data := fieldpath.Map(d.Object, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if kind != "CompositeConnectionDetails" {
			break
		}
		text, isText := data[key].(string)
		if _, err := base64.StdEncoding.DecodeString(text); !isText {
			found = append(found, fmt.Sprintf("%s: data.%s is not a string, so all connection details of the document are ignored", kind, key))
		} else if err != nil {
			found = append(found, fmt.Sprintf("%s: data.%s is not in base64, so only the part before the error is kept", kind, key))
		}
	}
	for i, c := range fieldpath.List(d.Object, "conditions") {
		status := fieldpath.Text(c, "status")
		if _, isText := fieldpath.Map(c)["status"].(string); !isText && fieldpath.Map(c)["status"] != nil {
			continue // The result is fatal.
		}
		if kind == "ClaimConditions" && !slices.Contains(sdk.ConditionStatuses(), status) {
			found = append(found, fmt.Sprintf("%s: conditions[%d].status is %q, which becomes Unknown", kind, i, status))
		}
	}
	fields := []string{"apiVersion", "kind", "matchLabels", "matchName", "namespace"}
	requirements := fieldpath.Map(d.Object, "requirements")
	for _, key := range slices.Sorted(maps.Keys(requirements)) {
		for _, field := range slices.Sorted(maps.Keys(fieldpath.Map(requirements[key]))) {
			if kind == "ExtraResources" && !slices.Contains(fields, field) {
				found = append(found, fmt.Sprintf("%s: requirements.%s has no field %s%s", kind, key, field, hint.DidYouMean(hint.Nearest(field, fields))))
			}
		}
	}
	return found
}
