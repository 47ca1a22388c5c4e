package builtin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
)

func extraResourcesBuiltin() Builtin {
	const measured = "v0.3.0"
	return Builtin{
		Name: "function-extra-resources", Measured: measured, From: "v0.1.0", Below: "v0.4.0", LastExtra: "v0.2.0",
		Input:   inputOf[ExtraResourcesInput]("extra-resources.fn.crossplane.io/v1beta1 Input", composition.Input{Values: sdk.SourceValues("spec.extraResources"), Reads: sdk.SourceReads("spec.extraResources")}),
		Covered: "`extraResources` of both types; `policy`. Up to v0.2.0, resources are required in the field `extraResources` of the protocol, and before v0.2.0, `namespace` is an unknown field. With the tag `main` or from v0.4.0-0 also what no release has: the field `context`, and the lists in the context of selectors that find nothing.",
		Differs: "Two inputs that crash the real function are fatal results. The number of resources is limited (1,048,576).",
		New: func(o Options) function.Runner {
			unreleased := o.since(measured, "v0.4.0-0") // no release has the behavior of the branch main
			f := &requirer[ExtraResourcesInput]{
				fault:   "could not build extra resource requirements",
				sources: (*ExtraResourcesInput).sources,
				idle:    func(*ExtraResourcesInput) bool { return false },
				write: func(_ *fnv1.RunFunctionRequest, in *ExtraResourcesInput, found map[string]*fnv1.Resources) (string, *structpb.Struct, error) {
					lists, err := in.Spec.lists(found, unreleased)
					if err != nil {
						return "", nil, fmt.Errorf("verifying and sorting extra resources: %w", err)
					}
					key := sdk.ExtraKey
					if in.Spec.Context != nil && in.Spec.Context.Key != nil {
						key = *in.Spec.Context.Key
					}
					return key, &structpb.Struct{Fields: lists}, nil
				},
			}
			if !unreleased {
				f.inputs.Lacks = append(f.inputs.Lacks, "spec.context")
			}
			if !o.since(measured, "v0.3.0-0") {
				f.protocol = sdk.Extra
			}
			if !o.since(measured, "v0.2.0-0") {
				f.inputs.Lacks = append(f.inputs.Lacks, "spec.extraResources[].namespace")
			}
			return function.RunnerFunc(f.run)
		},
		locate: firstLine(locateExtraSource),
	}
}

// maxExtraItems limits the number of resources that all sources have together. Sources with the same
// key have the same resources.
const maxExtraItems = 1 << 20

// ExtraResourcesInput is the input of function-extra-resources.
type ExtraResourcesInput struct {
	sdk.Meta `json:",inline"`

	Spec extraResourcesSpec `json:"spec,omitempty"`
}

type extraResourcesSpec struct {
	// ExtraResources select the resources that the function requires.
	ExtraResources []extraSource `json:"extraResources,omitempty"`
	// Policy applies to sources of type Reference.
	Policy sdk.Policy `json:"policy,omitempty"`
	// Context is where the resources are put. No release has this field.
	Context *extraContext `json:"context,omitempty"`
}

type extraContext struct {
	// Key is the key in the context. The default is apiextensions.crossplane.io/extra-resources.
	Key *string `json:"key,omitempty"`
}

// An extraSource selects one or several resources of a kind.
type extraSource struct {
	sdk.Source `json:",inline"`
	// APIVersion and Kind are the kind of the resources, and Namespace is their namespace.
	APIVersion string  `json:"apiVersion,omitempty"`
	Kind       string  `json:"kind,omitempty"`
	Namespace  *string `json:"namespace,omitempty"`
	// Selector is required for type Selector.
	Selector *sdk.Selector `json:"selector,omitempty"`
	// Into is the key of the requirement, and of the list of resources in the context.
	Into string `json:"into"`
}

// locateExtraSource returns the path of the field in an input to which a fatal result refers,
// or "". The input is in JSON.
func locateExtraSource(fatal string, input []byte) string {
	in := &ExtraResourcesInput{}
	text, ok := strings.CutPrefix(fatal, "verifying and sorting extra resources: ")
	if !ok || json.Unmarshal(input, in) != nil {
		return sdk.FieldOf(fatal, "extraResources", input)
	}
	i := slices.IndexFunc(in.Spec.ExtraResources, func(src extraSource) bool {
		into := strconv.Quote(src.Into)
		return strings.Contains(text, "extra resource "+into) || strings.Contains(text, "extra resources "+into)
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("spec.extraResources[%d]", i)
}

func (in *ExtraResourcesInput) sources() (list string, all []source) {
	for _, src := range in.Spec.ExtraResources {
		all = append(all, source{src.Source, src.Selector, src.Into, &fnv1.ResourceSelector{ApiVersion: src.APIVersion, Kind: src.Kind, Namespace: src.Namespace}})
	}
	return "spec.extraResources", all
}

func (s extraResourcesSpec) lists(required map[string]*fnv1.Resources, unreleased bool) (map[string]*structpb.Value, error) {
	lists, sorted, n := map[string]*structpb.Value{}, map[string][]*fnv1.Resource{}, 0
	for _, src := range s.ExtraResources {
		found, ok := required[src.Into]
		if !ok {
			return nil, fmt.Errorf("cannot find expected extra resource %q", src.Into)
		}
		if sorted[src.Into] == nil {
			sorted[src.Into] = slices.Clone(found.GetItems())
		}
		if n += len(found.GetItems()); n > maxExtraItems {
			return nil, fmt.Errorf("the extra resources are more than %d", maxExtraItems)
		}
		items, err := src.pick(sorted[src.Into], s.Policy, unreleased)
		if err != nil {
			return nil, err
		}
		if keeps := unreleased && src.Type == sdk.BySelector; len(items) == 0 && !keeps {
			continue
		}
		list := &structpb.ListValue{}
		if lists[src.Into] != nil && !unreleased {
			list = lists[src.Into].GetListValue()
		}
		for _, item := range items {
			list.Values = append(list.Values, structpb.NewStructValue(sdk.With(item.GetResource(), nil)))
		}
		lists[src.Into] = structpb.NewListValue(list)
	}
	return lists, nil
}

// pick returns the resources of a source among items, which it may sort.
func (src extraSource) pick(items []*fnv1.Resource, policy sdk.Policy, unreleased bool) ([]*fnv1.Resource, error) {
	switch src.Type {
	case sdk.ByReference, "":
		return only(items, policy, "extra resource", "extra", src.Into)
	case sdk.BySelector:
		if least := src.Selector.MinMatch; least != nil && uint64(len(items)) < *least {
			return nil, fmt.Errorf("expected at least %d extra resources %q, got %d", *least, src.Into, len(items))
		}
		if unreleased {
			return src.Selector.Pick(items, kindName)
		}
		return src.Selector.Pick(items, reflect.Type.String)
	}
	return nil, nil
}
