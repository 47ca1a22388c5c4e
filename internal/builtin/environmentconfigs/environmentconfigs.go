package environmentconfigs

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

// Measured is the version with which tests compare the builtin, and LastExtra the last version
// that requires resources in the field extra_resources.
const (
	Measured  = "v0.7.1"
	LastExtra = "v0.6.0"
)

// environmentKey is the key of the environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// New returns the function in a version of the real one. It caches decoded inputs. A version is a tag such as v0.7.1; any
// other text means Measured.
func New(version string) function.Runner {
	f := &fn{protocol: sdk.Required, noun: "required"}
	if !sdk.Since(version, Measured, "v0.7.0-0") {
		f = &fn{protocol: sdk.Extra, noun: "extra", lacks: []string{"spec.environmentConfigs[].toFieldPath"}}
	}
	return function.RunnerFunc(f.run)
}

type fn struct {
	protocol sdk.Protocol
	// noun is what messages call the resources.
	noun string
	// lacks are the fields of the input that the version does not have.
	lacks []string
	// inputs caches decoded inputs, which calls do not change.
	inputs sdk.Memo[sdk.Sum, *Input]
}

func (f *fn) run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in, err := f.inputs.Get(sdk.SumOf(req.GetInput()), func() (*Input, error) {
		in := &Input{}
		return in, sdk.Decode(req.GetInput(), in, f.lacks...)
	})
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: %w", err)), nil
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
	data, err := mergeData(configs)
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot merge environment data: %w", err)), nil
	}
	there := req.GetContext().GetFields()[environmentKey].GetStructValue().AsMap()
	all := merge(merge(map[string]any{}, runtime.DeepCopyJSON(in.Spec.DefaultData)), merge(there, data))
	environment, err := sdk.Struct(patch.Environment(all).Fields)
	if err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot convert Composition environment to protobuf Struct well-known type: %w", err)), nil
	}
	rsp.Context = sdk.With(req.GetContext(), map[string]*structpb.Value{environmentKey: structpb.NewStructValue(environment)})
	return rsp, nil
}

// keyOf returns the key of the requirement of the source with index i.
func keyOf(i int) string { return fmt.Sprintf("environment-config-%d", i) }

// Locate returns the path of the field in an input to which a fatal result refers, or "".
func Locate(fatal string, _ []byte) (field string, line int) {
	_, text, ok := strings.Cut(fatal, `"environment-config-`)
	if n, _, quoted := strings.Cut(text, `"`); ok && quoted {
		return fmt.Sprintf("spec.environmentConfigs[%s]", n), 1
	}
	return sdk.Unset(fatal), 1
}

// selectors returns the requirements of all sources. xr returns the observed composite resource.
func (s inputSpec) selectors(xr func() map[string]any) (map[string]*fnv1.ResourceSelector, error) {
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
			all[keyOf(i)] = sel
		}
	}
	return all, nil
}

// A config is an EnvironmentConfig and the path of its data in the environment.
type config struct {
	resource *structpb.Struct
	path     string
}

// pick returns the EnvironmentConfigs of all sources, in their order.
func (f *fn) pick(s inputSpec, required map[string]*fnv1.Resources) ([]config, error) {
	var all []config
	for i, src := range s.EnvironmentConfigs {
		found, ok := required[keyOf(i)]
		if !ok {
			continue
		}
		var items []*fnv1.Resource
		var err error
		switch src.Type {
		case sdk.ByReference, "":
			if items, err = f.referenced(src.Ref.Name, s.Policy, found.GetItems()); err != nil {
				return nil, fmt.Errorf("cannot process environment config %q by reference, %q: %w", src.Ref.Name, keyOf(i), err)
			}
		case sdk.BySelector:
			if items, err = f.selected(src.Selector, found.GetItems()); err != nil {
				return nil, fmt.Errorf("cannot process environment config %q by selector: %w", keyOf(i), err)
			}
		}
		for _, item := range items {
			all = append(all, config{item.GetResource(), src.ToFieldPath})
		}
	}
	return all, nil
}

func (f *fn) referenced(name string, policy sdk.Policy, items []*fnv1.Resource) ([]*fnv1.Resource, error) {
	switch n := len(items); {
	case n == 0 && !policy.Optional():
		return nil, fmt.Errorf("Required environment config %q not found", name)
	case n > 1:
		return nil, fmt.Errorf("expected exactly one %s resource %q, got %d", f.noun, name, n)
	default:
		return items, nil
	}
}

func (f *fn) selected(s *selector, items []*fnv1.Resource) ([]*fnv1.Resource, error) {
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
