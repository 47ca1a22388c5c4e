package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// own returns the faults that Crossplane finds in obj, and an API server does not. The bool is true
// if obj is a Composition with fields that Crossplane v2 removed.
func (v *Validator) own(ctx context.Context, at place, obj map[string]any) ([]Fault, bool) {
	switch gk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind(); {
	case v.Composition != nil && gk.Group == apiextv1.Group && gk.Kind == apiextv1.CompositionKind:
		return v.composition(ctx, at, obj)
	case gk == schema.CronOperation:
		return schedule(at, obj), false
	}
	return nil, false
}

// ofResources is the fault of a legacy Composition in Crossplane v2. It replaces the faults that the
// schema finds: an unsupported mode, a missing pipeline, and unknown fields.
var ofResources = schema.Fault{
	Field: "spec.resources",
	Text:  "Crossplane v2 refuses a Composition of mode Resources: convert it with `convert pipeline-composition`, or select a version of Crossplane v1",
}

// schedule returns a warning if Crossplane cannot parse the schedule of obj, a CronOperation.
func schedule(at place, obj map[string]any) []Fault {
	const key = "spec.schedule"
	text, ok, err := unstructured.NestedString(obj, "spec", "schedule")
	if !ok || err != nil { // The schema reports it.
		return nil
	}
	if err := schema.CheckSchedule(text); err != nil {
		return []Fault{{Field: key, Line: at.line(key), Text: fmt.Sprintf("%s is %q, so Crossplane creates no Operation: %v", key, text, err), Warning: true}}
	}
	return nil
}

// covers reports whether a fault of the schema at one field makes a fault of
// Options.Composition at the other field superfluous. The schema reports that a key of a
// list element occurs twice as a fault of the element.
func covers(bySchema, field string) bool {
	at := strings.LastIndexByte(field, '.')
	return bySchema != "" && (bySchema == field || strings.HasSuffix(bySchema, "]") && bySchema == field[:max(at, 0)])
}

// composition calls v.Composition for the Composition obj, and adds line numbers. The bool
// is true if the Composition has fields that Crossplane v2 removed.
func (v *Validator) composition(ctx context.Context, at place, obj map[string]any) ([]Fault, bool) {
	doc := at.doc
	if at.field != "" || doc.Text == nil {
		text, err := json.Marshal(obj)
		if err != nil {
			return nil, false
		}
		doc = manifest.Document{Path: doc.Path, Line: at.line(""), Text: text}
	}
	found, isLegacy := v.Composition(ctx, doc, obj, func(gvk kschema.GroupVersionKind) (*schema.Definition, string) {
		def, _ := v.definition(ctx, gvk.GroupKind())
		if def != nil {
			return def, ""
		}
		return nil, v.nearest(gvk)
	})
	for i, f := range found {
		if f.Line == 0 {
			found[i].Line = at.line(f.Field)
		}
		found[i].boolean = at.boolean(f)
	}
	return found, isLegacy
}
