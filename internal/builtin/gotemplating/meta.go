package gotemplating

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	v2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// meta applies a document with a kind of the function's own API metaAPIVersion.
func (c *change) meta(d *unstructured.Unstructured) error {
	switch d.GetKind() {
	case "CompositeConnectionDetails":
		c.connectionDetails(d)
		return nil
	case "ClaimConditions":
		return c.conditions(d)
	case "Context":
		return c.context(d)
	case "ExtraResources":
		return c.require(d)
	default:
		return fmt.Errorf("invalid kind %q for apiVersion %q - must be one of CompositeConnectionDetails, Context or ExtraResources", d.GetKind(), metaAPIVersion)
	}
}

// decodeField decodes a field of an object, by way of its JSON form.
func decodeField(object map[string]any, name string, into any) error {
	v, ok := object[name]
	if !ok {
		return errors.New(name + ": no such field")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot marshal value to JSON: %w", err)
	}
	if err := kjson.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("cannot unmarshal value from JSON: %w", err)
	}
	return nil
}

// connectionDetails adds the document's data to the connection details of the XR.
// The values are in base64. It ignores data that is not a map of strings. The
// real function adds the details to the request itself, so they are in the
// response even after a later error.
func (c *change) connectionDetails(d *unstructured.Unstructured) {
	data, _, err := unstructured.NestedStringMap(d.Object, "data")
	if err != nil {
		return
	}
	if c.composite.ConnectionDetails == nil {
		c.composite.ConnectionDetails = map[string][]byte{}
	}
	for name, text := range data {
		c.composite.ConnectionDetails[name], _ = base64.StdEncoding.DecodeString(text)
	}
	if before := c.req.GetDesired().GetComposite(); len(before.GetConnectionDetails()) > 0 {
		composite := &fnv1.Resource{
			Resource:          before.GetResource(),
			Ready:             before.GetReady(),
			ConnectionDetails: c.composite.GetConnectionDetails(),
		}
		c.rsp.Desired = &fnv1.State{Composite: composite, Resources: c.req.GetDesired().GetResources()}
	}
}

type targetedCondition struct {
	v2.Condition `json:",inline"`

	Target string `json:"target"`
}

// conditions adds the document's conditions to the response.
func (c *change) conditions(d *unstructured.Unstructured) error {
	var conditions []targetedCondition
	if err := decodeField(d.Object, "conditions", &conditions); err != nil {
		return fmt.Errorf("cannot get Conditions from input: %w", err)
	}
	for _, condition := range conditions {
		if v2.IsSystemConditionType(condition.Type) {
			return fmt.Errorf("cannot set ClaimCondition type: %s is a reserved Crossplane Condition", condition.Type)
		}
		m := &fnv1.Condition{Type: string(condition.Type), Status: sdk.StatusOf(string(condition.Status)), Reason: string(condition.Reason), Target: sdk.TargetOf(&condition.Target)}
		if condition.Message != "" {
			m.Message = &condition.Message
		}
		c.rsp.Conditions = append(c.rsp.Conditions, m)
	}
	return nil
}

// context merges the document's data into the context. If the data and the context have an
// object under the same key, the objects are merged. Other values are replaced.
func (c *change) context(d *unstructured.Unstructured) error {
	data := map[string]any{}
	if err := decodeField(d.Object, "data", &data); err != nil {
		return fmt.Errorf("cannot get Contexts from input: %w", err)
	}
	for key, v := range data {
		there, isObject := c.requestContext(key).AsInterface().(map[string]any)
		if below, ok := v.(map[string]any); ok && isObject {
			data[key] = fieldpath.Merge(there, below)
		}
	}
	return c.setContext(data)
}

// requestContext returns the value in the context with which the value of a document is
// merged. It is nil if the request has no context, because the real function merges into
// the request's context. An empty context counts as no context, because gRPC does not distinguish them.
// Otherwise the value has the changes of earlier documents.
func (c *change) requestContext(key string) *structpb.Value {
	if len(c.req.GetContext().GetFields()) == 0 {
		return nil
	}
	return c.rsp.GetContext().GetFields()[key]
}

func (c *change) setContext(data map[string]any) error {
	values, err := sdk.Struct(data)
	if err != nil {
		return fmt.Errorf("cannot convert value to structpb.Value: %w", err)
	}
	if len(data) == 0 {
		return nil
	}
	c.rsp.Context = sdk.With(c.rsp.GetContext(), values.GetFields())
	return nil
}

// requirement is a resource, or a set of resources, that the template requires.
type requirement struct {
	APIVersion  string            `json:"apiVersion"`
	Kind        string            `json:"kind"`
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchName is the name of the resource. If it is not empty, MatchLabels is ignored.
	MatchName string `json:"matchName,omitempty"`
	// Namespace is the namespace of the resource. It is ignored if MatchName is empty.
	Namespace string `json:"namespace,omitempty"`
}

func (r requirement) selector() *fnv1.ResourceSelector {
	s := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind}
	if r.MatchName == "" {
		s.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.MatchLabels}}
		return s
	}
	s.Match = &fnv1.ResourceSelector_MatchName{MatchName: r.MatchName}
	if r.Namespace != "" {
		s.Namespace = &r.Namespace
	}
	return s
}

// require adds the requirements in a document to the response. For older versions of
// Crossplane, it also adds each requirement without a namespace to extra_resources.
func (c *change) require(d *unstructured.Unstructured) error {
	var requirements map[string]requirement
	if err := decodeField(d.Object, "requirements", &requirements); err != nil {
		return fmt.Errorf("cannot get extra resources requirements: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(requirements)) {
		asks := c.requirements.ProtoReflect()
		extra, mapKey := asks.Mutable(sdk.ExtraField(asks)).Map(), protoreflect.ValueOfString(key).MapKey()
		if extra.Has(mapKey) {
			return fmt.Errorf("duplicate extra resource key %q", key)
		}
		if c.requirements.Resources == nil {
			c.requirements.Resources = map[string]*fnv1.ResourceSelector{}
		}
		r := requirements[key]
		c.requirements.Resources[key] = r.selector()
		if r.Namespace == "" {
			extra.Set(mapKey, protoreflect.ValueOfMessage(r.selector().ProtoReflect()))
		}
	}
	return nil
}

// copyResources adds required resources to the context under sdk.ExtraKey.
// They have the form in which encoding/json encodes them.
func (c *change) copyResources(found map[string]*fnv1.Resources) error {
	if len(found) == 0 {
		return nil
	}
	all := map[string]any{}
	if there := c.requestContext(sdk.ExtraKey).GetStructValue(); there != nil {
		all = there.AsMap()
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	return c.setContext(map[string]any{sdk.ExtraKey: all})
}
