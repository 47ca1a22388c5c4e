package gotemplating

import (
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

const (
	nameAnnotation  = "gotemplating.fn.crossplane.io/composition-resource-name"
	readyAnnotation = "gotemplating.fn.crossplane.io/ready"
	ttlAnnotation   = "gotemplating.fn.crossplane.io/ttl"
	metaAPIVersion  = "meta.gotemplating.fn.crossplane.io/v1alpha1"
)

// A change collects the effects of a template's documents on the desired state,
// until method write sets them in the response. Until then, the response only has
// the effects that the real function keeps when it fails.
type change struct {
	req *fnv1.RunFunctionRequest
	rsp *fnv1.RunFunctionResponse
	// composite is the desired composite resource. Its status is in the field status.
	composite *fnv1.Resource
	// status is nil if no document has a status.
	status       map[string]any
	resources    map[string]*fnv1.Resource
	requirements *fnv1.Requirements
}

// apply applies the documents to the response, in order. An error about a document is a
// documentError.
func apply(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, documents []document) error {
	before := req.GetDesired().GetComposite()
	c := &change{
		req: req, rsp: rsp, resources: sdk.Desired(req), requirements: &fnv1.Requirements{},
		composite: &fnv1.Resource{Resource: before.GetResource(), ConnectionDetails: maps.Clone(before.GetConnectionDetails())},
	}
	if c.composite.Resource == nil {
		c.composite.Resource = &structpb.Struct{}
	}
	for _, d := range documents {
		if err := c.document(d.Unstructured); err != nil {
			return documentError{err, d.index, 0}
		}
	}
	return c.write()
}

// document applies one document. It describes the XR, is a composed resource, or
// has a kind of the function's own API metaAPIVersion.
func (c *change) document(d *unstructured.Unstructured) error {
	isMeta := d.GetAPIVersion() == metaAPIVersion
	ready, given := fnv1.Ready_READY_UNSPECIFIED, false
	if !isMeta {
		var err error
		if ready, given, err = cutReady(d); err != nil {
			return err
		}
	}
	switch {
	case c.isComposite(d):
		if given {
			c.composite.Ready = ready
		}
		return c.mergeStatus(d)
	case isMeta:
		return c.meta(d)
	default:
		return c.composed(d, ready)
	}
}

// isComposite reports whether a document describes the XR. Such a document has the
// apiVersion and kind of the observed XR, and no annotation with a resource name.
func (c *change) isComposite(d *unstructured.Unstructured) bool {
	observed := c.req.GetObserved().GetComposite().GetResource().GetFields()
	_, named := d.GetAnnotations()[nameAnnotation]
	return !named && d.GetAPIVersion() == observed["apiVersion"].GetStringValue() && d.GetKind() == observed["kind"].GetStringValue()
}

// cutReady removes the annotation readyAnnotation and returns its value.
func cutReady(d *unstructured.Unstructured) (ready fnv1.Ready, given bool, err error) {
	text, given := cutAnnotation(d, readyAnnotation)
	ready, valid := readiness[text]
	if given && !valid {
		err = fmt.Errorf("invalid function input: invalid %q annotation value %q: must be True, False, or Unspecified", readyAnnotation, text)
	}
	return ready, given, err
}

var readiness = map[string]fnv1.Ready{
	"True": fnv1.Ready_READY_TRUE, "False": fnv1.Ready_READY_FALSE, "Unspecified": fnv1.Ready_READY_UNSPECIFIED,
}

func cutAnnotation(d *unstructured.Unstructured, name string) (string, bool) {
	annotations := fieldpath.Map(d.Object, "metadata", "annotations")
	v, ok := annotations[name].(string)
	delete(annotations, name)
	return v, ok
}

func (c *change) composed(d *unstructured.Unstructured, ready fnv1.Ready) error {
	name, ok := cutAnnotation(d, nameAnnotation)
	if !ok {
		return fmt.Errorf("%q template is missing required %q annotation", d.GetKind(), nameAnnotation)
	}
	resource, err := sdk.Struct(d.Object)
	if err != nil {
		return fmt.Errorf("cannot convert the template %q: %w", name, err)
	}
	c.resources[name] = &fnv1.Resource{Resource: resource, Ready: ready}
	return nil
}

// mergeStatus merges a document's status into the desired status of the XR.
func (c *change) mergeStatus(d *unstructured.Unstructured) error {
	if _, ok := d.Object["status"]; !ok {
		return nil
	}
	if c.status == nil {
		status, err := c.desiredStatus()
		if err != nil {
			return fmt.Errorf("cannot get desired composite status: %w", err)
		}
		c.status = status
	}
	status := map[string]any{}
	if err := decodeField(d.Object, "status", &status); err != nil {
		return fmt.Errorf("cannot get templated composite status: %w", err)
	}
	fieldpath.Merge(c.status, status)
	return nil
}

func (c *change) desiredStatus() (map[string]any, error) {
	var status map[string]any
	if v, ok := c.composite.GetResource().GetFields()["status"]; ok {
		if err := decodeField(map[string]any{"status": v.AsInterface()}, "status", &status); err != nil {
			return nil, err
		}
	}
	if status == nil {
		status = map[string]any{}
	}
	return status, nil
}

// write writes the desired state and the requirements into the response.
func (c *change) write() error {
	if c.status != nil {
		status, err := sdk.Struct(c.status)
		if err != nil {
			return fmt.Errorf("cannot set desired composite status: %w", err)
		}
		c.composite.Resource = sdk.With(c.composite.GetResource(), map[string]*structpb.Value{"status": structpb.NewStructValue(status)})
	}
	for _, p := range []sdk.Protocol{sdk.Extra, sdk.Required} {
		if err := c.copyResources(p.Resources(c.req)); err != nil {
			return fmt.Errorf("cannot convert extra resources: %w", err)
		}
	}
	c.rsp.Desired = &fnv1.State{Composite: c.composite, Resources: c.resources}
	if len(c.requirements.GetResources()) > 0 {
		c.rsp.Requirements = c.requirements
	}
	return nil
}
