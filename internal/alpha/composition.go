package alpha

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A Composition is a decoded Composition with compiled patches.
type Composition struct {
	environment []compiledPatch
	templates   []template
	functions   []functionSpec
}

// A template is an entry of spec.resources. Its patch sets are expanded.
type template struct {
	name    string
	base    json.RawMessage
	patches []compiledPatch
	details []fnio.DerivedConnectionDetail
	checks  []spec.ReadinessCheck
}

// A compiledPatch is a patch. If a required field of the patch is not set,
// missing is the error that applying the patch returns.
type compiledPatch struct {
	patch.Patch
	missing error
}

type functionSpec struct {
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

// A Container is the container of a function.
type Container struct {
	// Function is the name of the function.
	Function string
	Image    string
	// Endpoint is the gRPC target of the runner that the Composition names, or "".
	Endpoint string
}

// Containers returns the containers of the functions in the order of the functions.
func (c *Composition) Containers() []Container {
	var all []Container
	for _, f := range c.functions {
		if f.Type == container {
			req := f.Container.request(nil)
			all = append(all, Container{Function: f.Name, Image: req.Image, Endpoint: req.Endpoint})
		}
	}
	return all
}

// WithoutFunctions returns a copy of c without the functions.
func (c *Composition) WithoutFunctions() *Composition {
	without := *c
	without.functions = nil
	return &without
}

// PatchesEnvironment reports whether any patch reads or writes the environment.
func (c *Composition) PatchesEnvironment() bool {
	touches := func(m compiledPatch) bool { return strings.Contains(string(m.Type), "Environment") }
	return len(c.environment) > 0 || slices.ContainsFunc(c.templates, func(t template) bool { return slices.ContainsFunc(t.patches, touches) })
}

// A FieldError is an error in a field of a Composition.
type FieldError struct {
	// Field is a path, such as "spec.functions[0].name".
	Field string
	Err   error
}

// Error returns "field: cause".
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

func fault(field, format string, args ...any) error {
	return &FieldError{field, fmt.Errorf(format, args...)}
}

// under adds a path before the field of a FieldError.
func under(path string, err error) error {
	if e, ok := err.(*FieldError); ok {
		return &FieldError{path + "." + e.Field, e.Err}
	}
	return err
}

// Decode reads spec.resources, spec.patchSets, spec.environment.patches and spec.functions
// of a Composition. It validates them as the API server and the reconciler do. The values
// of obj are JSON values, as in a manifest.Document. An invalid field is a *FieldError.
func Decode(obj map[string]any) (*Composition, error) {
	fields, _, _ := unstructured.NestedMap(obj, "spec")
	c := &Composition{}
	if err := convert("spec.functions", fields["functions"], &c.functions); err != nil {
		return nil, err
	}
	if err := checkFunctions(c.functions); err != nil {
		return nil, err
	}
	resources := fieldpath.List(fields, "resources")
	if len(resources)+len(c.functions) == 0 {
		return nil, fault("spec", "the Composition has neither resources nor functions")
	}
	if err := checkNames(resources, len(c.functions) > 0); err != nil {
		return nil, err
	}
	return c, c.decodeResources(obj, fields)
}

func convert(field string, from, into any) error {
	if from == nil {
		return nil
	}
	raw, err := json.Marshal(from)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	}
	var misfit *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &misfit):
		return &FieldError{field, err}
	case misfit.Field != "":
		field += "." + misfit.Field
	}
	return fault(field, "cannot decode a JSON %s", misfit.Value)
}

func checkNames(resources []any, functions bool) error {
	for i, r := range resources {
		if fieldpath.Text(r, "name") != "" {
			continue
		}
		if functions {
			return fault(fmt.Sprintf("spec.resources[%d].name", i), "cannot have anonymous resources when composition has functions")
		}
		return hint.Wrap(fault(fmt.Sprintf("spec.resources[%d].name", i), "the composer of Compositions with functions does not support resources without names"),
			"name the resources, or render without the profile alpha")
	}
	return nil
}

// input is the input of function-patch-and-transform that legacy.Convert creates.
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
		ReadinessChecks   []spec.ReadinessCheck          `json:"readinessChecks"`
	} `json:"resources"`
}

// decodeResources converts spec.resources to the input of a pipeline step. In the
// input, the defaults of the schema are set.
func (c *Composition) decodeResources(obj, fields map[string]any) error {
	resources, environment := fieldpath.List(fields, "resources"), fieldpath.List(fields, "environment", "patches")
	if len(resources)+len(environment) == 0 {
		return nil
	}
	pipeline, _, err := legacy.Convert(map[string]any{
		"apiVersion": obj["apiVersion"], "kind": obj["kind"],
		"spec": map[string]any{
			"mode": "Resources", "resources": resources, "patchSets": fields["patchSets"],
			"environment": map[string]any{"patches": environment},
		},
	}, legacy.Names{})
	var note legacy.Note
	switch {
	case errors.As(err, &note):
		return fault(note.Field, "%s", note.Text)
	case err != nil:
		return fmt.Errorf("reading the Composition: %w", err)
	}
	var steps []struct {
		Input input `json:"input"`
	}
	if err := convert("spec", pipeline["spec"].(map[string]any)["pipeline"], &steps); err != nil {
		return err
	}
	return c.compile(&steps[0].Input)
}

// notZero returns p, or nil if the value of p is zero.
func notZero[T comparable](p *T) *T {
	if p != nil && *p == *new(T) {
		return nil
	}
	return p
}
