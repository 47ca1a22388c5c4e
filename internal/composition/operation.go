package composition

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// operationTypes are the types of the kinds that Operations are made of.
var operationTypes = map[string]reflect.Type{
	opsv1alpha1.OperationKind:      reflect.TypeFor[opsv1alpha1.Operation](),
	opsv1alpha1.CronOperationKind:  reflect.TypeFor[opsv1alpha1.CronOperation](),
	opsv1alpha1.WatchOperationKind: reflect.TypeFor[opsv1alpha1.WatchOperation](),
}

// templatePath returns the path of an Operation's fields in a document of a kind, with a dot
// at the end if it is not empty.
func templatePath(kind string) string {
	if kind == opsv1alpha1.OperationKind {
		return ""
	}
	return "spec.operationTemplate."
}

// DecodeOperation returns the Operation in a document. For a CronOperation or WatchOperation, it
// returns the Operation of the template, under the name of the CronOperation or WatchOperation.
// The Entry has the pipeline of the Operation as the pipeline of a Composition. DecodeOperation
// ignores unknown fields as the API server does; Check reports them.
func DecodeOperation(doc manifest.Document) (*opsv1alpha1.Operation, Entry, error) {
	obj, err := doc.Object()
	if err != nil {
		return nil, Entry{}, err
	}
	u := &unstructured.Unstructured{Object: obj}
	if u.GroupVersionKind().Group != opsv1alpha1.Group || operationTypes[u.GetKind()] == nil {
		err := fmt.Errorf("not an operation type: %s/%s: expected an Operation, CronOperation or WatchOperation", u.GetKind(), u.GetAPIVersion())
		err = doc.ErrorOf("kind", err)
		if operationTypes[u.GetKind()] != nil {
			err = hint.Wrap(err, hint.Hint(fmt.Sprintf("set \"apiVersion: %s\" at %s", opsv1alpha1.SchemeGroupVersion, doc.PositionOf("apiVersion"))))
		} else if u.GroupVersionKind().Group == "pkg.crossplane.io" {
			err = hint.Wrap(err, "the order is Operation, functions, as in xfn operation render operation.yaml functions.yaml")
		} else if _, isKnown := schema.FindKind(u.GroupVersionKind()); !isKnown || u.GetKind() == apiextv1.CompositionKind {
			err = hint.Wrap(err, "an XR and its Composition are rendered by xfn render")
		}
		return nil, Entry{}, schema.SuggestKind(err, u.GetAPIVersion(), u.GetKind())
	}
	if want := opsv1alpha1.SchemeGroupVersion.String(); u.GetAPIVersion() != want {
		err := fmt.Errorf("expected the apiVersion %s of kind %s, got %s", want, u.GetKind(), u.GetAPIVersion())
		return nil, Entry{}, doc.ErrorOf("apiVersion", err)
	}
	op, err := decodeOperation(doc, u.GetKind())
	if err != nil {
		return nil, Entry{}, err
	}
	e := Entry{Composition: &apiextv1.Composition{}, Document: doc, operation: u.GetKind(), object: obj}
	e.Name = op.GetName()
	e.Spec.Mode = apiextv1.CompositionMode(op.Spec.Mode)
	if e.Spec.Pipeline, err = Steps(op); err != nil {
		return nil, Entry{}, fmt.Errorf("%s: %w", doc.Position(), err)
	}
	return op, e, nil
}

func decodeOperation(doc manifest.Document, kind string) (op *opsv1alpha1.Operation, err error) {
	into := reflect.New(operationTypes[kind]).Interface()
	err = decode(doc, into)
	switch from := into.(type) {
	case *opsv1alpha1.CronOperation:
		op = fromTemplate(from.GetName(), from.Spec.OperationTemplate)
	case *opsv1alpha1.WatchOperation:
		op = fromTemplate(from.GetName(), from.Spec.OperationTemplate)
	case *opsv1alpha1.Operation:
		op = from
	}
	return op, err
}

// fromTemplate returns the Operation of a template, with all metadata of the template except the
// name. A control plane adds a suffix to the name, labels and an owner; operation render of the
// crossplane CLI adds none of these.
func fromTemplate(name string, t opsv1alpha1.OperationTemplate) *opsv1alpha1.Operation {
	op := &opsv1alpha1.Operation{
		TypeMeta:   metav1.TypeMeta{APIVersion: opsv1alpha1.SchemeGroupVersion.String(), Kind: opsv1alpha1.OperationKind},
		ObjectMeta: t.ObjectMeta,
		Spec:       t.Spec,
	}
	op.SetName(name)
	return op
}

// Steps returns the pipeline of an Operation as the pipeline of a Composition, which has
// the same fields.
func Steps(op *opsv1alpha1.Operation) (steps []apiextv1.PipelineStep, err error) {
	raw, err := json.Marshal(op.Spec.Pipeline)
	if err == nil {
		err = json.Unmarshal(raw, &steps)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the pipeline of Operation %q: %w", op.GetName(), err)
	}
	return steps, nil
}

// What returns the kind of the document: Composition, Operation, CronOperation or
// WatchOperation.
func (e Entry) What() string {
	if e.operation != "" {
		return e.operation
	}
	return apiextv1.CompositionKind
}

// Watch returns which resources a WatchOperation watches. The bool is false if e is not a
// WatchOperation.
func (e Entry) Watch() (opsv1alpha1.WatchSpec, bool) {
	w := opsv1alpha1.WatchOperation{}
	if e.operation != opsv1alpha1.WatchOperationKind || e.Document.Decode(&w) != nil {
		return opsv1alpha1.WatchSpec{}, false
	}
	return w.Spec.Watch, true
}

// checkOperation reports fields that the kind of e's document does not define.
func (ps *problems) checkOperation(e Entry) {
	data, err := json.Marshal(e.object)
	if err != nil {
		return
	}
	t := operationTypes[e.operation]
	for _, field := range slices.Compact(unknownFields(data, reflect.New(t).Interface())) {
		ps.add(UnknownField, field, "unknown field of kind %s: the API server drops it%s", e.operation, schema.DidYouMean(t, field))
	}
}
