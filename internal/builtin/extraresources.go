package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// extraResourcesBuiltin returns the builtin function-extra-resources.
func extraResourcesBuiltin() Builtin {
	return Builtin{
		Name: "function-extra-resources", Measured: extraResourcesMeasured, From: "v0.1.0", Below: "v0.4.0", LastExtra: "v0.2.0",
		Input: "extra-resources.fn.crossplane.io/v1beta1 Input", Type: reflect.TypeFor[ExtraResourcesInput](), Values: sdk.SourceValues("spec.extraResources"),
		Covered: "`extraResources` of both types; `policy`. Up to v0.2.0, resources are required in the field `extraResources` of the protocol, and before v0.2.0, `namespace` is an unknown field. With the tag `main` or from v0.4.0-0 also what no release has: the field `context`, and the lists in the context of selectors that find nothing.",
		Differs: "Two inputs that crash the real function are fatal results. The number of resources is limited (1,048,576).",
		New:     func(o Options) function.Runner { return NewExtraResources(version(tag(o.Package))) },
		locate:  firstLine(locateExtraSource),
	}
}

// extraResourcesMeasured is the version of the real function with which tests compare the builtin.
const extraResourcesMeasured = "v0.3.0"

// maxExtraItems limits the number of resources that all sources have together. Sources with the same
// key have the same resources.
const maxExtraItems = 1 << 20

// ExtraResourcesInput is the input of function-extra-resources. apiVersion, kind and metadata
// are ignored.
type ExtraResourcesInput struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

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
	// Type is Reference, the default, or Selector. A source of any other type is ignored.
	Type string `json:"type,omitempty"`
	// APIVersion and Kind are the kind of the resources, and Namespace is their namespace.
	APIVersion string  `json:"apiVersion,omitempty"`
	Kind       string  `json:"kind,omitempty"`
	Namespace  *string `json:"namespace,omitempty"`
	// Ref is required for type Reference.
	Ref *sdk.Reference `json:"ref,omitempty"`
	// Selector is required for type Selector.
	Selector *sdk.Selector `json:"selector,omitempty"`
	// Into is the key of the requirement, and of the list of resources in the context.
	Into string `json:"into"`
}

// NewExtraResources returns function-extra-resources in a version of the real one. It caches
// decoded inputs. A version is a tag such as v0.3.0, or the branch main; any other text means
// Measured.
func NewExtraResources(version string) function.Runner {
	since := func(v string) bool { return sdk.Since(version, extraResourcesMeasured, v) }
	f := &extraResourcesFunction{branch: since("v0.4.0-0")}
	if !f.branch {
		f.inputs.Lacks = append(f.inputs.Lacks, "spec.context")
	}
	if !since("v0.3.0-0") {
		f.protocol = sdk.Extra
	}
	if !since("v0.2.0-0") {
		f.inputs.Lacks = append(f.inputs.Lacks, "spec.extraResources[].namespace")
	}
	return function.RunnerFunc(f.run)
}

type extraResourcesFunction struct {
	protocol sdk.Protocol
	// branch has the behavior of the branch main, which no release has.
	branch bool
	inputs sdk.Inputs[ExtraResourcesInput]
}

func (f *extraResourcesFunction) run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in, err := f.inputs.Of(req)
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	selectors, err := in.Spec.selectors(sync.OnceValue(req.GetObserved().GetComposite().GetResource().AsMap))
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("could not build extra resource requirements: %w", err)), nil
	}
	f.protocol.Require(rsp, selectors)
	required := f.protocol.Resources(req)
	if len(required) == 0 {
		return rsp, nil
	}
	picked, err := f.pick(in.Spec, required)
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("verifying and sorting extra resources: %w", err)), nil
	}
	key := "apiextensions.crossplane.io/extra-resources"
	if in.Spec.Context != nil && in.Spec.Context.Key != nil {
		key = *in.Spec.Context.Key
	}
	rsp.Context = sdk.With(req.GetContext(), map[string]*structpb.Value{key: structpb.NewStructValue(&structpb.Struct{Fields: picked})})
	return rsp, nil
}

// locateExtraSource returns the path of the field in an input to which a fatal result refers,
// or "". The input is in JSON.
func locateExtraSource(fatal string, input []byte) string {
	in := &ExtraResourcesInput{}
	text, ok := strings.CutPrefix(fatal, "verifying and sorting extra resources: ")
	if !ok || json.Unmarshal(input, in) != nil {
		return sdk.Unset(fatal)
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

// selectors returns the requirements of all sources. xr returns the observed composite resource.
func (s extraResourcesSpec) selectors(xr func() map[string]any) (map[string]*fnv1.ResourceSelector, error) {
	all := map[string]*fnv1.ResourceSelector{}
	for i, src := range s.ExtraResources {
		sel, err := sdk.Match(fmt.Sprintf("spec.extraResources[%d]", i), src.Type, src.Ref, src.Selector, xr)
		if err != nil {
			return nil, err
		}
		if sel != nil {
			sel.ApiVersion, sel.Kind, sel.Namespace = src.APIVersion, src.Kind, src.Namespace
			all[src.Into] = sel
		}
	}
	return all, nil
}

// pick returns the lists of resources of all sources, by key.
func (f *extraResourcesFunction) pick(s extraResourcesSpec, required map[string]*fnv1.Resources) (map[string]*structpb.Value, error) {
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
		items, keeps, err := f.itemsOf(src, s.Policy, sorted[src.Into])
		if err != nil {
			return nil, err
		}
		if len(items) == 0 && !keeps {
			continue
		}
		list := &structpb.ListValue{}
		if lists[src.Into] != nil && !f.branch {
			list = lists[src.Into].GetListValue()
		}
		for _, item := range items {
			list.Values = append(list.Values, structpb.NewStructValue(sdk.With(item.GetResource(), nil)))
		}
		lists[src.Into] = structpb.NewListValue(list)
	}
	return lists, nil
}

// itemsOf returns the resources of a source among items, which it may sort. keeps is true if the
// context has a list for the source even if there are no resources.
func (f *extraResourcesFunction) itemsOf(src extraSource, policy sdk.Policy, items []*fnv1.Resource) (picked []*fnv1.Resource, keeps bool, err error) {
	n := len(items)
	switch src.Type {
	case sdk.ByReference, "":
		switch {
		case n == 0 && !policy.Optional():
			return nil, false, fmt.Errorf("%s extra resource %q not found", sdk.MustExist, src.Into)
		case n > 1:
			return nil, false, fmt.Errorf("expected exactly one extra resource %q, got %d", src.Into, n)
		default:
			return items, false, nil
		}
	case sdk.BySelector:
		if src.Selector.MinMatch != nil && uint64(n) < *src.Selector.MinMatch {
			return nil, false, fmt.Errorf("expected at least %d extra resources %q, got %d", *src.Selector.MinMatch, src.Into, n)
		}
		typeName := reflect.Type.String
		if f.branch {
			typeName = func(t reflect.Type) string { return t.Kind().String() }
		}
		picked, err = src.Selector.Pick(items, typeName)
		return picked, f.branch, err
	default:
		return nil, false, nil
	}
}
