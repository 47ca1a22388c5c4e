package composition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// An Entry is a Composition and the document that it was read from.
type Entry struct {
	*apiextv1.Composition
	Document manifest.Document
	// Duplicate is the error for a duplicate key, whose last value is used, or nil.
	Duplicate error
	// Converted is true for a legacy Composition that was converted to a
	// pipeline. Notes are the notes of this conversion.
	Converted bool
	Notes     []legacy.Note
	// Alpha is true if the Composition calls alpha functions.
	Alpha bool
	// operation is the kind of the document if it is an Operation, CronOperation or
	// WatchOperation. Then the Composition has the pipeline of the document.
	operation string

	// object is the Composition. For a legacy Composition, it is the result of the
	// conversion, and origins are the fields from which its first steps were made.
	object  map[string]any
	origins []string
	// refused is the reason why a legacy Composition was not converted. Its Field
	// is empty for any other Composition.
	refused legacy.Note
}

// ErrKind is the error for an object of another kind than Composition.
var ErrKind = errors.New("expected a Composition")

// Decode returns the Composition in a document, as a pipeline. It ignores
// unknown fields as the API server does. A legacy Composition that cannot be
// converted is returned unchanged; Check reports why.
func Decode(doc manifest.Document) (Entry, error) {
	obj, duplicate, err := doc.StrictObject()
	if err != nil {
		return Entry{}, err
	}
	if err := doc.CheckType(obj); err != nil {
		return Entry{}, err
	}
	u := unstructured.Unstructured{Object: obj}
	if u.GetKind() != apiextv1.CompositionKind {
		err := doc.ErrorOf("kind", fmt.Errorf("%w, got %s", ErrKind, Describe(&u)))
		return Entry{}, schema.SuggestKind(err, u.GetAPIVersion(), u.GetKind())
	}
	if want := apiextv1.SchemeGroupVersion.String(); u.GetAPIVersion() != want {
		return Entry{}, doc.ErrorOf("apiVersion", fmt.Errorf("expected a Composition of apiVersion %s, got %s", want, cmp.Or(u.GetAPIVersion(), "none")))
	}
	e := Entry{Composition: &apiextv1.Composition{}, Document: doc, Duplicate: duplicate, object: obj}
	if err := decode(doc, e.Composition); err != nil {
		return Entry{}, err
	}
	switch {
	case legacy.HasFunctions(obj):
		e.Alpha, e.refused = true, legacy.Note{Field: "spec.functions", Text: "alpha functions can only be rendered in profile alpha"}
	case legacy.Is(obj):
		return e, e.convert()
	}
	return e, nil
}

// decode decodes a document. The error for a value of another type has the value's own line.
func decode(doc manifest.Document, into any) error {
	err := doc.Decode(into)
	if err == nil {
		return nil
	}
	obj, objErr := doc.Object()
	raw, jsonErr := json.Marshal(obj)
	if all := schema.Misfits(raw, reflect.TypeOf(into)); objErr == nil && jsonErr == nil && len(all) > 0 {
		return doc.ErrorOf(all[0].Field, fmt.Errorf("%s %s", all[0].Field, all[0].Err.Detail))
	}
	return err
}

func (e *Entry) convert() error {
	obj, notes, err := legacy.Convert(e.object, legacy.Names{})
	if errors.As(err, &e.refused) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Document.Position(), err)
	}
	if slices.Contains(notes, legacy.NoResources) {
		e.refused = legacy.NoResources
		return nil
	}
	e.origins = legacy.Origins(e.object)
	e.object, e.Notes, e.Converted = obj, notes, true
	e.Spec = apiextv1.CompositionSpec{}
	raw, err := json.Marshal(obj["spec"])
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &e.Spec)
	}
	if err != nil {
		return fmt.Errorf("decoding the pipeline of the Composition at %s: %w", e.Document.Position(), err)
	}
	return nil
}

// DocumentField returns the path in e.Document of a field of the Composition. The paths differ
// in the steps of a converted Composition. A field that the conversion added has the path of
// the part of the document from which it made the step.
func (e Entry) DocumentField(field string) string {
	if e.operation != "" {
		return templatePath(e.operation) + field
	}
	rest, isStep := strings.CutPrefix(field, "spec.pipeline[")
	index, rest, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(index)
	switch input, hasInput := strings.CutPrefix(rest, ".input"); {
	case !isStep || err != nil:
		return field
	case i >= len(e.origins):
		return fmt.Sprintf("spec.pipeline[%d]%s", i-len(e.origins), rest)
	case hasInput && e.origins[i] == "spec.resources":
		return "spec" + input
	default:
		return e.origins[i]
	}
}

// Without returns e without the steps for which drop returns true.
func (e Entry) Without(drop func(apiextv1.PipelineStep) bool) Entry {
	c := *e.Composition
	c.Spec.Pipeline = nil
	var origins []string
	for i, step := range e.Spec.Pipeline {
		if drop(step) {
			continue
		}
		c.Spec.Pipeline = append(c.Spec.Pipeline, step)
		if i < len(e.origins) {
			origins = append(origins, e.origins[i])
		}
	}
	e.Composition, e.origins = &c, origins
	return e
}

// Describe returns the kind and name of an object for messages.
func Describe(u *unstructured.Unstructured) string {
	switch kind, name := u.GetKind(), u.GetName(); {
	case kind == "":
		return "an object without a kind"
	case name == "":
		return hint.An(kind) + " without a name"
	default:
		return fmt.Sprintf("%s %q", kind, name)
	}
}

// Match returns an error if c cannot compose xr: c is for another kind or version, or lacks
// a label that the XR selects. selector is the path of the selected labels in the XR.
// `crossplane render` makes the same checks in the same order.
func Match(c *apiextv1.Composition, xr *unstructured.Unstructured, selector ...string) error {
	want := c.Spec.CompositeTypeRef
	if want.Kind != xr.GetKind() {
		return fmt.Errorf("the Composition %q is for kind %s, but the composite resource %q is of kind %s", c.GetName(), want.Kind, xr.GetName(), xr.GetKind())
	}
	if want.APIVersion != xr.GetAPIVersion() {
		return fmt.Errorf("the Composition %q is for apiVersion %s, but the composite resource %q is of apiVersion %s", c.GetName(), want.APIVersion, xr.GetName(), xr.GetAPIVersion())
	}
	labels, _, _ := unstructured.NestedStringMap(xr.Object, selector...)
	var errs []error
	for _, key := range manifest.Keys(labels) {
		switch got, ok := c.GetLabels()[key]; {
		case !ok:
			errs = append(errs, fmt.Errorf("the composite resource selects Compositions by label %s=%s, which Composition %q lacks", key, labels[key], c.GetName()))
		case got != labels[key]:
			errs = append(errs, fmt.Errorf("the composite resource selects Compositions by label %s=%s, but Composition %q has %s", key, labels[key], c.GetName(), got))
		}
	}
	return errors.Join(errs...)
}
