package legacy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	kjson "sigs.k8s.io/json"

	pt "github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// resourcesInput returns the input of function-patch-and-transform, or nil if old has
// neither resources nor environment patches, but other steps. It changes old.
func (c *converter) resourcesInput(old spec) (map[string]any, error) {
	if !old.patches() {
		return nil, nil
	}
	if len(old.Resources) == 0 && len(old.Environment.Patches) == 0 {
		c.notes = append(c.notes, NoResources)
	}
	for i, set := range old.PatchSets {
		c.plainPatches(fmt.Sprintf("spec.patchSets[%d].patches", i), set.Patches)
	}
	c.plainPatches("spec.environment.patches", old.Environment.Patches)
	c.nameResources(old.Resources)
	for i := range old.Resources {
		c.resource(fmt.Sprintf("spec.resources[%d]", i), &old.Resources[i])
	}
	return object(struct {
		APIVersion  string      `json:"apiVersion"`
		Kind        string      `json:"kind"`
		PatchSets   []patchSet  `json:"patchSets,omitempty"`
		Environment environment `json:"environment,omitzero"`
		Resources   []resource  `json:"resources,omitempty"`
	}{"pt.fn.crossplane.io/v1beta1", "Resources", old.PatchSets, environment{Patches: old.Environment.Patches}, old.Resources})
}

// patches reports whether the pipeline needs a step of function-patch-and-transform.
func (old spec) patches() bool {
	return len(old.Resources)+len(old.Environment.Patches) > 0 || len(old.Functions)+len(old.Pipeline) == 0
}

// nameResources gives resources without a name a name with their index. A
// pipeline requires names.
func (c *converter) nameResources(all []resource) {
	unnamed := 0
	for i := range all {
		if all[i].Name == "" {
			all[i].Name = fmt.Sprintf("resource-%d", i)
			unnamed++
		}
	}
	switch unnamed {
	case 0:
	case len(all):
		c.note("spec.resources", "the resources have no names, so they are named resource-0 and so on: "+
			"existing resources need these names in the annotation crossplane.io/composition-resource-name before a pipeline may compose them")
	default:
		c.note("spec.resources", "some resources have names and others do not: Crossplane would reject the Composition")
	}
}

func (c *converter) resource(at string, r *resource) {
	for i := range r.Patches {
		c.patch(fmt.Sprintf("%s.patches[%d]", at, i), &r.Patches[i])
	}
	for i := range r.ConnectionDetails {
		completeDetail(&r.ConnectionDetails[i])
	}
	for i := range r.ReadinessChecks {
		c.readinessCheck(fmt.Sprintf("%s.readinessChecks[%d]", at, i), &r.ReadinessChecks[i])
	}
}

// completeDetail sets a missing type and a missing name of a connection detail.
func completeDetail(d *pt.ConnectionDetail) {
	switch {
	case d.Type != "":
	case d.Value != nil:
		d.Type = pt.FromValue
	case d.FromConnectionSecretKey == nil && d.FromFieldPath != nil:
		d.Type = pt.FromFieldPath
	default:
		d.Type = pt.FromConnectionSecretKey
	}
	if d.Name == "" && d.Type == pt.FromConnectionSecretKey && d.FromConnectionSecretKey != nil {
		d.Name = *d.FromConnectionSecretKey
	}
}

// readinessCheck sets the fields that have defaults in the schema. It adds a note if the
// check compares with an integer, because such a check fails in a pipeline.
func (c *converter) readinessCheck(at string, r *pt.ReadinessCheck) {
	switch r.Type {
	case pt.CheckMatchInteger:
		c.note(at, "function-patch-and-transform decodes each observed number as a float, which never equals an integer, so the resource will not become ready")
	case pt.CheckMatchCondition:
		if r.MatchCondition == nil {
			r.MatchCondition = &pt.MatchCondition{}
		}
		r.MatchCondition.Type = cmp.Or(r.MatchCondition.Type, "Ready")
		r.MatchCondition.Status = cmp.Or(r.MatchCondition.Status, "True")
	}
}

// converted lists the fields of a legacy spec that the conversion replaces by a pipeline.
var converted = []string{"patchSets", "environment", "resources", "functions", "pipeline"}

// decode decodes those fields of a legacy spec that the list converted contains. It drops
// unknown fields, as the API server does, and adds notes about the first hundred of them.
func (c *converter) decode(was map[string]any) (spec, error) {
	part := map[string]any{}
	for _, key := range converted {
		if v, ok := was[key]; ok {
			part[key] = v
		}
	}
	var old struct {
		Spec spec `json:"spec"`
	}
	raw, err := json.Marshal(map[string]any{"spec": part})
	if err != nil {
		return spec{}, Note{Field: "spec", Text: err.Error()}
	}
	unknown, err := kjson.UnmarshalStrict(raw, &old, kjson.DisallowUnknownFields)
	if err != nil {
		field, value, ok := pt.SplitTypeError(err)
		if !ok {
			return spec{}, Note{Field: "spec", Text: err.Error()}
		}
		return spec{}, Note{Field: field, Text: "cannot decode a JSON " + value}
	}
	for _, err := range unknown {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			c.drop(field.FieldPath(), schema.DidYouMean(reflect.TypeOf(old), field.FieldPath()))
		}
	}
	return old.Spec, nil
}

// object converts a struct to the JSON object that it is encoded as.
func object(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, Note{Field: "spec", Text: err.Error()}
	}
	var obj map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &obj); err != nil {
		return nil, Note{Field: "spec", Text: err.Error()}
	}
	return obj, nil
}

// spec has the fields of a legacy spec that the conversion replaces by a
// pipeline. The types patchSet, resource, patch and policy describe the parts
// that differ from the input of function-patch-and-transform.
type spec struct {
	PatchSets   []patchSet       `json:"patchSets"`
	Environment environment      `json:"environment"`
	Resources   []resource       `json:"resources"`
	Functions   []alphaFunction  `json:"functions"`
	Pipeline    []map[string]any `json:"pipeline"`
}

type patchSet struct {
	Name    string  `json:"name"`
	Patches []patch `json:"patches"`
}

// A resource is a resource template. Its base must be a JSON object.
type resource struct {
	pt.Template
	Base    map[string]any `json:"base,omitzero"`
	Patches []patch        `json:"patches,omitempty"`
}

// A patch is a patch whose policy may have merge options. PatchSetName is only
// allowed in the patches of a resource.
type patch struct {
	pt.ComposedPatch
	Policy policy `json:"policy,omitzero"`
}

type policy struct {
	FromFieldPath pt.FromPolicy `json:"fromFieldPath,omitempty"`
	// ToFieldPath replaces MergeOptions in the input of a pipeline step.
	ToFieldPath  pt.ToPolicy   `json:"toFieldPath,omitempty"`
	MergeOptions *mergeOptions `json:"mergeOptions,omitempty"`
}

type mergeOptions struct {
	KeepMapValues bool `json:"keepMapValues"`
	AppendSlice   bool `json:"appendSlice"`
}
