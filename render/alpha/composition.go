package alpha

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/hint"
	fnio "github.com/xfn-dev/xfn/render/alpha/v1alpha1"
)

// A composition is what counts of a Composition.
type composition struct {
	environment []patch
	templates   []template
	functions   []function
}

// A template is an entry of spec.resources, with its patch sets in their place.
type template struct {
	name    string
	base    json.RawMessage
	patches []patch
	details []fnio.DerivedConnectionDetail
	checks  []fnio.DesiredReadinessCheck
}

// A patch is one that Request.Patch applies.
type patch struct {
	// kind is the type that the Composition says.
	kind string
	// required says that it is an error if there is nothing to read.
	required bool
	// missing is what a patch lacks that it needs, or nil.
	missing error
	raw     json.RawMessage
}

// A function is an entry of spec.functions.
type function struct {
	Name      string                `json:"name"`
	Type      string                `json:"type"`
	Config    *runtime.RawExtension `json:"config"`
	Container *containerFunction    `json:"container"`
}

type containerFunction struct {
	Image           string           `json:"image"`
	ImagePullPolicy *string          `json:"imagePullPolicy"`
	Timeout         *metav1.Duration `json:"timeout"`
	Network         *struct {
		Policy *string `json:"policy"`
	} `json:"network"`
	Resources *struct {
		Limits *struct {
			CPU    *resource.Quantity `json:"cpu"`
			Memory *resource.Quantity `json:"memory"`
		} `json:"limits"`
	} `json:"resources"`
	Runner *struct {
		Endpoint *string `json:"endpoint"`
	} `json:"runner"`
}

// decodeComposition reads a Composition, and checks what the API server and the
// reconciler checked.
func decodeComposition(obj map[string]any) (*composition, error) {
	spec, _, _ := unstructured.NestedMap(obj, "spec")
	c := &composition{}
	if err := convert(spec["functions"], &c.functions); err != nil {
		return nil, fmt.Errorf("reading spec.functions: %w", err)
	}
	if err := checkFunctions(c.functions); err != nil {
		return nil, err
	}
	resources, _ := spec["resources"].([]any)
	if len(resources)+len(c.functions) == 0 {
		return nil, errors.New("the Composition has neither resources nor functions")
	}
	if err := checkNames(resources, len(c.functions) > 0); err != nil {
		return nil, err
	}
	return c, c.decodeResources(obj, spec)
}

// convert decodes a value of JSON into what it should be.
func convert(from, into any) error {
	if from == nil {
		return nil
	}
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
}

func checkNames(resources []any, functions bool) error {
	for i, r := range resources {
		fields, _ := r.(map[string]any)
		if name, _ := fields["name"].(string); name != "" {
			continue
		}
		if functions {
			return fmt.Errorf("spec.resources[%d].name: cannot have anonymous resources when composition has functions", i)
		}
		return hint.Wrap(fmt.Errorf("spec.resources[%d].name: resources without names were not composed by what composed functions", i),
			"name the resources, or render without the profile alpha")
	}
	return nil
}

// input is what legacy makes of resources.
type input struct {
	PatchSets []struct {
		Name    string            `json:"name"`
		Patches []json.RawMessage `json:"patches"`
	} `json:"patchSets"`
	Environment struct {
		Patches []json.RawMessage `json:"patches"`
	} `json:"environment"`
	Resources []struct {
		Name              string                         `json:"name"`
		Base              json.RawMessage                `json:"base"`
		Patches           []json.RawMessage              `json:"patches"`
		ConnectionDetails []fnio.DerivedConnectionDetail `json:"connectionDetails"`
		ReadinessChecks   []fnio.DesiredReadinessCheck   `json:"readinessChecks"`
	} `json:"resources"`
}

// decodeResources reads the resources as the step of a pipeline that they would
// become, in which all that the schema leaves to defaults is written out.
func (c *composition) decodeResources(obj, spec map[string]any) error {
	resources, _ := spec["resources"].([]any)
	environment, _, _ := unstructured.NestedSlice(spec, "environment", "patches")
	if len(resources)+len(environment) == 0 {
		return nil
	}
	pipeline, _, err := legacy.Convert(map[string]any{
		"apiVersion": obj["apiVersion"], "kind": obj["kind"],
		"spec": map[string]any{
			"mode": "Resources", "resources": resources, "patchSets": spec["patchSets"],
			"environment": map[string]any{"patches": environment},
		},
	}, legacy.Names{})
	if err != nil {
		return fmt.Errorf("reading the Composition: %w", err)
	}
	var steps []struct {
		Input input `json:"input"`
	}
	if err := convert(pipeline["spec"].(map[string]any)["pipeline"], &steps); err != nil {
		return fmt.Errorf("reading spec.resources: %w", err)
	}
	return c.take(&steps[0].Input)
}

func (c *composition) take(in *input) error {
	sets := map[string][]patch{}
	for _, set := range in.PatchSets {
		patches, err := patches(set.Patches, nil)
		if err != nil {
			return err
		}
		sets[set.Name] = patches
	}
	var err error
	if c.environment, err = patches(in.Environment.Patches, nil); err != nil {
		return err
	}
	for _, r := range in.Resources {
		t := template{name: r.Name, base: r.Base, details: r.ConnectionDetails, checks: r.ReadinessChecks}
		if t.patches, err = patches(r.Patches, sets); err != nil {
			return err
		}
		for i := range t.checks {
			unset(&t.checks[i])
		}
		c.templates = append(c.templates, t)
	}
	return nil
}

// patchFields are those of a patch that the engine looks at.
type patchFields struct {
	Type          string  `json:"type"`
	FromFieldPath *string `json:"fromFieldPath"`
	ToFieldPath   *string `json:"toFieldPath"`
	Combine       *struct {
		Variables []any `json:"variables"`
	} `json:"combine"`
	PatchSetName *string `json:"patchSetName"`
	Policy       struct {
		FromFieldPath string `json:"fromFieldPath"`
	} `json:"policy"`
}

// missing says what of a patch is required and not there.
func (p *patchFields) missing() error {
	field := ""
	switch combines := strings.HasPrefix(p.Type, "Combine"); {
	case !combines && p.FromFieldPath == nil:
		field = "FromFieldPath"
	case !combines:
		return nil
	case p.Combine == nil:
		field = "Combine"
	case p.ToFieldPath == nil:
		field = "ToFieldPath"
	case len(p.Combine.Variables) == 0:
		return errors.New("combine patch types require at least one variable")
	default:
		return nil
	}
	return fmt.Errorf("%s is required by type %s", field, p.Type)
}

// patches reads patches, and puts those of sets in their place. Where sets is
// nil there may be none.
func patches(raws []json.RawMessage, sets map[string][]patch) ([]patch, error) {
	var all []patch
	for _, raw := range raws {
		var p patchFields
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("reading a patch: %w", err)
		}
		if p.Type != "PatchSet" {
			all = append(all, patch{kind: p.Type, required: p.Policy.FromFieldPath == "Required", missing: p.missing(), raw: raw})
			continue
		}
		set, err := patchSet(p.PatchSetName, sets)
		if err != nil {
			return nil, fmt.Errorf("cannot patch and transform: cannot inline Composition patch sets: %w", err)
		}
		all = append(all, set...)
	}
	return all, nil
}

func patchSet(name *string, sets map[string][]patch) ([]patch, error) {
	switch {
	case sets == nil:
		return nil, errors.New("a patch in a PatchSet cannot be of type PatchSet")
	case name == nil:
		return nil, errors.New("PatchSetName is required by type PatchSet")
	}
	set, ok := sets[*name]
	if !ok {
		return nil, fmt.Errorf("cannot find PatchSet by name %s", *name)
	}
	return set, nil
}

// unset makes a template's check one of a FunctionIO: what is empty or 0 is not
// there.
func unset(c *fnio.DesiredReadinessCheck) {
	if c.FieldPath != nil && *c.FieldPath == "" {
		c.FieldPath = nil
	}
	if c.MatchString != nil && *c.MatchString == "" {
		c.MatchString = nil
	}
	if c.MatchInteger != nil && *c.MatchInteger == 0 {
		c.MatchInteger = nil
	}
}
