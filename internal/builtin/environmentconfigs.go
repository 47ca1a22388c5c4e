package builtin

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
)

// environmentConfigs returns the builtin function-environment-configs.
func environmentConfigs() Builtin {
	return Builtin{
		Name: "function-environment-configs", Measured: environmentConfigsMeasured, From: "v0.1.0", Below: "v0.8.0", LastExtra: "v0.6.0",
		Input: "environmentconfigs.fn.crossplane.io/v1beta1 Input", Type: reflect.TypeFor[EnvironmentConfigsInput](), Values: sdk.SourceValues("spec.environmentConfigs"),
		Covered: "`defaultData`; `environmentConfigs` of both types with `selector` and `toFieldPath`; `policy`. Up to v0.6.0, `toFieldPath` is an unknown field, and resources are required in the field `extraResources` of the protocol.",
		Differs: "Four inputs that crash the real function are fatal results. Data with different `toFieldPath` is merged in the order of the list, and not in random order. The nulls with which `toFieldPath` extends lists up to an index are limited (1,048,576).",
		New:     func(o Options) function.Runner { return NewEnvironmentConfigs(version(tag(o.Package))) },
		locate:  firstLine(locateEnvironmentSource),
	}
}

// environmentConfigsMeasured is the version of the real function with which tests compare the builtin.
const environmentConfigsMeasured = "v0.7.1"

// environmentKey is the key of the environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// NewEnvironmentConfigs returns function-environment-configs in a version of the real one. It
// caches decoded inputs. A version is a tag such as v0.7.1; any other text means Measured.
func NewEnvironmentConfigs(version string) function.Runner {
	f := &environmentConfigsFunction{protocol: sdk.Required, noun: "required"}
	if !sdk.Since(version, environmentConfigsMeasured, "v0.7.0-0") {
		f = &environmentConfigsFunction{protocol: sdk.Extra, noun: "extra"}
		f.inputs.Lacks = []string{"spec.environmentConfigs[].toFieldPath"}
	}
	return function.RunnerFunc(f.run)
}

type environmentConfigsFunction struct {
	protocol sdk.Protocol
	// noun is what messages call the resources.
	noun   string
	inputs sdk.Inputs[EnvironmentConfigsInput]
}

func (f *environmentConfigsFunction) run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in, err := f.inputs.Of(req)
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	if in.Spec.EnvironmentConfigs == nil {
		return rsp, nil
	}
	selectors, err := in.Spec.selectors(sync.OnceValue(req.GetObserved().GetComposite().GetResource().AsMap))
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot build requirements: %w", err)), nil
	}
	f.protocol.Require(rsp, selectors)
	required := f.protocol.Resources(req)
	if len(required) == 0 {
		return rsp, nil
	}
	configs, err := f.pick(in.Spec, required)
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot get selected environment configs: %w", err)), nil
	}
	data, err := mergeConfigs(configs)
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot merge environment data: %w", err)), nil
	}
	there := req.GetContext().GetFields()[environmentKey].GetStructValue().AsMap()
	all := mergeObjects(mergeObjects(map[string]any{}, runtime.DeepCopyJSON(in.Spec.DefaultData)), mergeObjects(there, data))
	environment, err := sdk.Struct(patch.Environment(all).Fields)
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot convert Composition environment to protobuf Struct well-known type: %w", err)), nil
	}
	rsp.Context = sdk.With(req.GetContext(), map[string]*structpb.Value{environmentKey: structpb.NewStructValue(environment)})
	return rsp, nil
}

// requirementKey returns the key of the requirement of the source with index i.
func requirementKey(i int) string { return fmt.Sprintf("environment-config-%d", i) }

// locateEnvironmentSource returns the path of the field in an input to which a fatal result
// refers, or "".
func locateEnvironmentSource(fatal string, _ []byte) string {
	_, text, ok := strings.Cut(fatal, `"environment-config-`)
	if n, _, quoted := strings.Cut(text, `"`); ok && quoted {
		return fmt.Sprintf("spec.environmentConfigs[%s]", n)
	}
	return sdk.Unset(fatal)
}

// selectors returns the requirements of all sources. xr returns the observed composite resource.
func (s environmentConfigsSpec) selectors(xr func() map[string]any) (map[string]*fnv1.ResourceSelector, error) {
	all := map[string]*fnv1.ResourceSelector{}
	for i, src := range s.EnvironmentConfigs {
		var labels *sdk.Selector
		if src.Selector != nil {
			labels = &src.Selector.Selector
		}
		sel, err := sdk.Match(fmt.Sprintf("spec.environmentConfigs[%d]", i), src.Type, src.Ref, labels, xr)
		if err != nil {
			return nil, err
		}
		if sel != nil {
			sel.ApiVersion, sel.Kind = "apiextensions.crossplane.io/v1beta1", "EnvironmentConfig"
			all[requirementKey(i)] = sel
		}
	}
	return all, nil
}

// An environmentConfig is an EnvironmentConfig and the path of its data in the environment.
type environmentConfig struct {
	resource *structpb.Struct
	path     string
}

// pick returns the EnvironmentConfigs of all sources, in their order.
func (f *environmentConfigsFunction) pick(s environmentConfigsSpec, required map[string]*fnv1.Resources) ([]environmentConfig, error) {
	var all []environmentConfig
	for i, src := range s.EnvironmentConfigs {
		found, ok := required[requirementKey(i)]
		if !ok {
			continue
		}
		var items []*fnv1.Resource
		var err error
		switch src.Type {
		case sdk.ByReference, "":
			if items, err = f.referenced(src.Ref.Name, s.Policy, found.GetItems()); err != nil {
				return nil, fmt.Errorf("cannot process environment config %q by reference, %q: %w", src.Ref.Name, requirementKey(i), err)
			}
		case sdk.BySelector:
			if items, err = f.selected(src.Selector, found.GetItems()); err != nil {
				return nil, fmt.Errorf("cannot process environment config %q by selector: %w", requirementKey(i), err)
			}
		}
		for _, item := range items {
			all = append(all, environmentConfig{item.GetResource(), src.ToFieldPath})
		}
	}
	return all, nil
}

func (f *environmentConfigsFunction) referenced(name string, policy sdk.Policy, items []*fnv1.Resource) ([]*fnv1.Resource, error) {
	switch n := len(items); {
	case n == 0 && !policy.Optional():
		return nil, fmt.Errorf("%s environment config %q not found", sdk.MustExist, name)
	case n > 1:
		return nil, fmt.Errorf("expected exactly one %s resource %q, got %d", f.noun, name, n)
	default:
		return items, nil
	}
}

func (f *environmentConfigsFunction) selected(s *environmentSelector, items []*fnv1.Resource) ([]*fnv1.Resource, error) {
	n := len(items)
	switch s.Mode {
	case "Single", "":
		if n != 1 {
			return nil, fmt.Errorf("expected exactly one %s resource, got %d", f.noun, n)
		}
		return items, nil
	case "Multiple":
		if s.MinMatch != nil && uint64(n) < *s.MinMatch {
			return nil, fmt.Errorf("expected at least %d %s resources, got %d", *s.MinMatch, f.noun, n)
		}
		kind := func(t reflect.Type) string { return t.Kind().String() }
		return s.Pick(slices.Clone(items), kind)
	default:
		return nil, fmt.Errorf("unknown selector mode %q", s.Mode)
	}
}
