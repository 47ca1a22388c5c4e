package composition

import (
	"reflect"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// An Input describes the input of an official function.
type Input struct {
	// Function is the name of the function, such as function-patch-and-transform.
	Function string
	kschema.GroupVersionKind
	// Type is the Go type into which the function decodes its input strictly.
	Type reflect.Type
}

// Inputs are the inputs of official functions.
type Inputs []Input

// Named returns the input of the function with a name. The name is that of the function, or
// the name that Crossplane's package manager gives to its package.
func (all Inputs) Named(function string) (Input, bool) {
	return all.first(func(in Input) bool { return in.Function == strings.TrimPrefix(function, "crossplane-contrib-") })
}

// InGroup returns the input whose API group is that of apiVersion.
func (all Inputs) InGroup(apiVersion string) (Input, bool) {
	group, _, _ := strings.Cut(apiVersion, "/")
	return all.first(func(in Input) bool { return in.Group == group })
}

func (all Inputs) first(is func(Input) bool) (Input, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return Input{}, false
}
