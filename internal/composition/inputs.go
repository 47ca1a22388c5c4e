package composition

import (
	"reflect"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/schema"
)

// An Input describes the input of a function: of an official function, whose Type is known, or
// of a package with a CRD of the input.
type Input struct {
	// Function is the name of the function, such as function-patch-and-transform.
	Function string
	kschema.GroupVersionKind
	// Type is the Go type into which an official function decodes its input strictly.
	Type reflect.Type
	// Values has the values of fields whose other values the function ignores without an error, by
	// their path, such as spec.environmentConfigs[].type. [] stands for all elements of a list.
	Values map[string][]string
	// Reads are the fields with a path in the composite resource, unless a field type beside them
	// names another source. Patterns are the fields with a regular expression.
	Reads, Patterns []string
	// Quiet is true if the function reports an invalid input only in a condition.
	Quiet bool
	// Schema is the definition in the CRD of the function's package. It is nil if Type is set.
	Schema *schema.Definition
}

// Inputs are the inputs of functions. A function may have inputs of several kinds.
type Inputs []Input

// InputsOf returns the inputs that the CRDs in a function's package define. It ignores invalid
// CRDs, because a Composition cannot mend them.
func InputsOf(function string, crds ...map[string]any) Inputs {
	var all Inputs
	for _, crd := range crds {
		def, err := schema.New(crd)
		if err != nil || len(def.Versions()) == 0 {
			continue
		}
		all = append(all, Input{Function: function, GroupVersionKind: def.GroupKind.WithVersion(def.Versions()[0]), Schema: def})
	}
	return all
}

// Named returns the input of a function. If the function has several inputs, it returns the
// input of kind gk, or otherwise the first. The argument function is the name of the function,
// or the name that Crossplane's package manager gives to its package.
func (all Inputs) Named(function string, gk kschema.GroupKind) (Input, bool) {
	named := func(in Input) bool {
		return in.Function == function || in.Function == strings.TrimPrefix(function, "crossplane-contrib-")
	}
	if in, ok := first(all, func(in Input) bool { return named(in) && in.GroupKind() == gk }); ok {
		return in, true
	}
	return first(all, named)
}

// InGroup returns the first input of an API group.
func (all Inputs) InGroup(group string) (Input, bool) {
	return first(all, func(in Input) bool { return in.Group == group })
}
