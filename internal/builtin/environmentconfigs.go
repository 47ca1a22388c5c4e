package builtin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

func environmentConfigs() Builtin {
	const measured = "v0.7.1"
	return Builtin{
		Name: "function-environment-configs", Measured: measured, From: "v0.1.0", Below: "v0.8.0", LastExtra: "v0.6.0",
		Input:   inputOf[EnvironmentConfigsInput]("environmentconfigs.fn.crossplane.io/v1beta1 Input", composition.Input{Values: sdk.SourceValues("spec.environmentConfigs"), Reads: sdk.SourceReads("spec.environmentConfigs")}),
		Covered: "`defaultData`; `environmentConfigs` of both types with `selector` and `toFieldPath`; `policy`. Up to v0.6.0, `toFieldPath` is an unknown field, and resources are required in the field `extraResources` of the protocol. Before v0.5.0, a selector without labels is an error if other resources are found. Before v0.3.0, EnvironmentConfigs are required with the apiVersion `apiextensions.crossplane.io/v1alpha1`.",
		Differs: "Four inputs that crash the real function are fatal results. Data with different `toFieldPath` is merged in the order of the list, and not in random order. The nulls with which `toFieldPath` extends lists up to an index are limited (1,048,576).",
		New: func(o Options) function.Runner {
			noun, apiVersion := "required", "apiextensions.crossplane.io/v1beta1"
			f := &requirer[EnvironmentConfigsInput]{
				fault: "cannot build requirements",
				idle:  func(in *EnvironmentConfigsInput) bool { return in.Spec.EnvironmentConfigs == nil },
			}
			if !o.since(measured, "v0.7.0-0") {
				f.protocol, noun = sdk.Extra, "extra"
				f.inputs.Lacks = []string{"spec.environmentConfigs[].toFieldPath"}
			}
			if !o.since(measured, "v0.3.0-0") {
				apiVersion = "apiextensions.crossplane.io/v1alpha1"
			}
			f.sources = func(in *EnvironmentConfigsInput) (string, []source) { return in.sources(apiVersion) }
			skips := o.since(measured, "v0.5.0-0")
			f.write = func(req *fnv1.RunFunctionRequest, in *EnvironmentConfigsInput, found map[string]*fnv1.Resources) (string, *structpb.Struct, error) {
				environment, err := in.environment(req, found, noun, skips)
				return sdk.EnvironmentKey, environment, err
			}
			return function.RunnerFunc(f.run)
		},
		locate: firstLine(locateEnvironmentSource),
	}
}

// EnvironmentConfigsInput is the input of function-environment-configs.
type EnvironmentConfigsInput struct {
	sdk.Meta `json:",inline"`

	Spec environmentConfigsSpec `json:"spec,omitempty"`
}

type environmentConfigsSpec struct {
	// DefaultData is the environment that all other data overrides. It is ignored if there are
	// no EnvironmentConfigs, or if they require nothing.
	DefaultData map[string]any `json:"defaultData,omitempty"`
	// EnvironmentConfigs select the EnvironmentConfigs to merge. Later ones override earlier ones.
	EnvironmentConfigs []environmentSource `json:"environmentConfigs,omitempty"`
	// Policy applies to sources of type Reference.
	Policy sdk.Policy `json:"policy,omitempty"`
}

// An environmentSource selects one or several EnvironmentConfigs.
type environmentSource struct {
	sdk.Source `json:",inline"`
	// Selector is required for type Selector.
	Selector *environmentSelector `json:"selector,omitempty"`
	// ToFieldPath is the path of the data in the environment. The default is the root.
	ToFieldPath string `json:"toFieldPath,omitempty"`
}

type environmentSelector struct {
	// Mode is Single, the default, which selects exactly one EnvironmentConfig and ignores all
	// fields except matchLabels, or Multiple.
	Mode string `json:"mode,omitempty"`

	sdk.Selector `json:",inline"`
}

func requirementKey(i int) string { return fmt.Sprintf("environment-config-%d", i) }

// locateEnvironmentSource returns the path of the field in an input to which a fatal result
// refers, or "".
func locateEnvironmentSource(fatal string, input []byte) string {
	_, text, ok := strings.Cut(fatal, `"environment-config-`)
	if n, _, quoted := strings.Cut(text, `"`); ok && quoted {
		return fmt.Sprintf("spec.environmentConfigs[%s]", n)
	}
	return sdk.FieldOf(fatal, "environmentConfigs", input)
}

// sources returns the sources of EnvironmentConfigs with an apiVersion.
func (in *EnvironmentConfigsInput) sources(apiVersion string) (list string, all []source) {
	for i, src := range in.Spec.EnvironmentConfigs {
		s := source{src.Source, nil, requirementKey(i), &fnv1.ResourceSelector{ApiVersion: apiVersion, Kind: "EnvironmentConfig"}}
		if src.Selector != nil {
			s.selector = &src.Selector.Selector
		}
		all = append(all, s)
	}
	return "spec.environmentConfigs", all
}

// environment returns the environment with the data of the EnvironmentConfigs of all sources, in
// their order. Later ones override earlier ones. The real function merges data with different
// paths in random order. noun is what messages call the resources. A source that required nothing is an
// error unless skips is true.
func (in *EnvironmentConfigsInput) environment(req *fnv1.RunFunctionRequest, required map[string]*fnv1.Resources, noun string, skips bool) (*structpb.Struct, error) {
	picked := make([][]*fnv1.Resource, len(in.Spec.EnvironmentConfigs))
	for i, src := range in.Spec.EnvironmentConfigs {
		var err error
		found, ok := required[requirementKey(i)]
		switch {
		case !ok && skips:
			continue
		case !ok:
			return nil, fmt.Errorf("cannot get selected environment configs: cannot find expected extra resource %q", requirementKey(i))
		}
		if picked[i], err = src.pick(requirementKey(i), found.GetItems(), in.Spec.Policy, noun); err != nil {
			return nil, fmt.Errorf("cannot get selected environment configs: cannot process environment config %w", err)
		}
	}
	merged, nulls := map[string]any{}, 0
	for i, items := range picked {
		for _, item := range items {
			data, n, err := dataOf(item.GetResource(), in.Spec.EnvironmentConfigs[i].ToFieldPath)
			if nulls += n; err == nil && nulls > patch.MaxNulls {
				err = fmt.Errorf("the paths extend lists by more than %d nulls", patch.MaxNulls)
			}
			if err != nil {
				return nil, fmt.Errorf("cannot merge environment data: %w", err)
			}
			fieldpath.Merge(merged, data)
		}
	}
	there := req.GetContext().GetFields()[sdk.EnvironmentKey].GetStructValue().AsMap()
	all := fieldpath.Merge(fieldpath.Merge(map[string]any{}, runtime.DeepCopyJSON(in.Spec.DefaultData)), fieldpath.Merge(there, merged))
	environment, err := sdk.Struct(patch.Environment(all).Fields)
	if err != nil {
		return nil, fmt.Errorf("cannot convert Composition environment to protobuf Struct well-known type: %w", err)
	}
	return environment, nil
}

// pick returns the EnvironmentConfigs of a source with a key among items. An error begins with the
// name of the EnvironmentConfig, or with the key.
func (src environmentSource) pick(key string, items []*fnv1.Resource, policy sdk.Policy, noun string) (_ []*fnv1.Resource, err error) {
	switch src.Type {
	case sdk.ByReference, "":
		if items, err = only(items, policy, "environment config", noun, src.Ref.Name); err != nil {
			err = fmt.Errorf("%q by reference, %q: %w", src.Ref.Name, key, err)
		}
		return items, err
	case sdk.BySelector:
		if items, err = src.Selector.pick(items, noun); err != nil {
			err = fmt.Errorf("%q by selector: %w", key, err)
		}
		return items, err
	}
	return nil, nil
}

func (s *environmentSelector) pick(items []*fnv1.Resource, noun string) ([]*fnv1.Resource, error) {
	n := len(items)
	switch {
	case s.Mode != "Single" && s.Mode != "" && s.Mode != "Multiple":
		return nil, fmt.Errorf("unknown selector mode %q", s.Mode)
	case s.Mode == "Multiple" && s.MinMatch != nil && uint64(n) < *s.MinMatch:
		return nil, fmt.Errorf("expected at least %d %s resources, got %d", *s.MinMatch, noun, n)
	case s.Mode == "Multiple":
		return s.Pick(slices.Clone(items), kindName)
	case n != 1:
		return nil, fmt.Errorf("expected exactly one %s resource, got %d", noun, n)
	}
	return items, nil
}

// dataOf returns the data of an EnvironmentConfig at a path, and the number of nulls that extend
// lists up to an index.
func dataOf(config *structpb.Struct, at string) (data map[string]any, nulls int, err error) {
	name := sdk.At(config, "metadata", "name").GetStringValue()
	v, ok := config.GetFields()["data"]
	if at == "" {
		if data, err = rootData(v, ok); err != nil {
			err = fmt.Errorf("cannot get data from environment config %q: %w", name, err)
		}
		return data, 0, err
	}
	data = map[string]any{}
	path, err := fieldpath.Parse(at)
	if err == nil {
		nulls, err = path.Set(data, v.AsInterface())
	}
	if err != nil {
		return nil, nulls, fmt.Errorf("cannot get data from environment config %s into path %q", name, at)
	}
	return data, nulls, nil
}

// rootData returns the value of the field data, which must be an object or null. Its errors have
// the texts of crossplane-runtime and encoding/json.
func rootData(v *structpb.Value, exists bool) (map[string]any, error) {
	if !exists {
		return nil, errors.New("data: no such field")
	}
	kind := "number"
	switch v := v.AsInterface().(type) {
	case map[string]any:
		return v, nil
	case nil:
		return nil, nil
	case []any:
		kind = "array"
	case string, bool:
		kind = fmt.Sprintf("%T", v)
	}
	return nil, fmt.Errorf("cannot unmarshal value from JSON: json: cannot unmarshal %s into Go value of type map[string]interface {}", kind)
}
